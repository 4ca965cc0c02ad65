/* SPDX-License-Identifier: ISC */
/* service_running.c - our daemons run, are what is installed, and are held as their units say. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/facts.h"
#include "ctl/setup/file.h"
#include "ctl/setup/host.h"
#include "ctl/setup/keys.h"
#include "ctl/setup/units.h"

#include "common/banned.h"

#define STATUS_SIZE 4096

static void daemon_look(struct doctor *d, enum facts_daemon which, struct doctor_line *l)
{
    struct facts_process p;
    int r = facts_daemon(d, which, &p);

    if (r < 0)
        doctor_say(l, DOCTOR_UNKNOWN, "/proc: %s", strerror(-r));
    else if (p.pid == 0)
        doctor_say(l, DOCTOR_FAIL, "it does not run");
    else if (p.is_removed)
        doctor_say(l, DOCTOR_WARN,
                   "pid %d is an older %s than the one that is installed: it was not restarted",
                   (int)p.pid, facts_daemon_name(which));
    else
        doctor_say(l, DOCTOR_PASS, "pid %d", (int)p.pid);
}

void check_sessiond(struct doctor *d, struct doctor_line *l)
{
    daemon_look(d, FACTS_SESSIOND, l);
}

void check_atelier_sshd(struct doctor *d, struct doctor_line *l)
{
    daemon_look(d, FACTS_SSHD, l);
}

void check_holder(struct doctor *d, struct doctor_line *l)
{
    if (facts_has_systemd())
        daemon_look(d, FACTS_HOLDER, l);
    else
        doctor_say(l, DOCTOR_SKIP, "systemd is not the init of this host");
}

/* That it runs is not that it answers. */
void check_api(struct doctor *d, struct doctor_line *l)
{
    struct facts_process p;
    const char *why;
    const json_t *health;

    daemon_look(d, FACTS_API, l);
    if (doctor_is_bad(l->verdict))
        return;
    health = facts_health(d, &why);
    if (!health)
        doctor_say(l, DOCTOR_FAIL, "it does not answer: %s", why);
    else if (!json_is_true(json_object_get(health, "sessiond")))
        doctor_say(l, DOCTOR_FAIL, "it answers, but sessiond does not answer it");
    else if (strcmp(facts_health_text(health, "version"), PACKAGE_VERSION) != 0)
        doctor_say(l, DOCTOR_FAIL, "it is version %s, and this is %s",
                   facts_health_text(health, "version"), PACKAGE_VERSION);
    else if (facts_daemon(d, FACTS_API, &p) == 0)
        doctor_say(l, DOCTOR_PASS, "version %s answers, and so does sessiond",
                   facts_health_text(health, "version"));
}

void check_units(struct doctor *d, struct doctor_line *l)
{
    struct unit_state states[UNITS_MAX];
    size_t count = 0;
    int r;

    (void)d;
    if (!facts_has_systemd()) {
        doctor_say(l, DOCTOR_SKIP, "systemd is not the init of this host");
        return;
    }
    r = units_look(our_units, states);
    if (r < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "systemctl show: %s", strerror(-r));
        return;
    }
    for (; our_units[count]; count++) {
        if (!states[count].is_active)
            doctor_say(l, DOCTOR_FAIL, "%s is not active", our_units[count]);
        else if (!states[count].is_enabled)
            doctor_say(l, DOCTOR_WARN, "%s is not enabled: it is gone after a reboot",
                       our_units[count]);
    }
    doctor_say(l, DOCTOR_PASS, "%zu units are active and enabled", count);
}

/* --- what systemd took away from them, as the kernel says --------------------------------------
 */

/* Capabilities by number, as capability(7) has them in linux/capability.h. */
#define CAP_BIT(n) (UINT64_C(1) << (n))
/* data/systemd/sessiond.service.in, CapabilityBoundingSet=. */
#define SESSIOND_CAPS                                                                              \
    (CAP_BIT(0) | CAP_BIT(1) | CAP_BIT(3) | CAP_BIT(5) | CAP_BIT(6) | CAP_BIT(7) | CAP_BIT(8) |    \
     CAP_BIT(12) | CAP_BIT(13) | CAP_BIT(18) | CAP_BIT(19) | CAP_BIT(21) | CAP_BIT(23) |           \
     CAP_BIT(24) | CAP_BIT(27))

struct held {
    enum facts_daemon which;
    uint64_t caps; /* the most that it may have in its bounding set */
    bool has_filter, is_root;
};

static const struct held held[] = {
    {FACTS_SESSIOND, SESSIOND_CAPS, false, true},
    {FACTS_API, 0, true, false},
    {FACTS_HOLDER, 0, true, true},
};

struct status {
    unsigned uid, no_new_privs, seccomp;
    uint64_t bounding;
};

static int status_read(pid_t pid, struct status *ret)
{
    char path[64], text[STATUS_SIZE];
    const char *uid, *bounding, *nnp, *seccomp;
    int r;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    r = text_file_read(path, text, sizeof(text));
    if (r < 0)
        return r;
    uid = strstr(text, "\nUid:");
    bounding = strstr(text, "\nCapBnd:");
    nnp = strstr(text, "\nNoNewPrivs:");
    seccomp = strstr(text, "\nSeccomp:");
    if (!uid || !bounding || !nnp || !seccomp || sscanf(uid, "\nUid: %u", &ret->uid) != 1 ||
        sscanf(bounding, "\nCapBnd: %" SCNx64, &ret->bounding) != 1 ||
        sscanf(nnp, "\nNoNewPrivs: %u", &ret->no_new_privs) != 1 ||
        sscanf(seccomp, "\nSeccomp: %u", &ret->seccomp) != 1)
        return -EBADMSG;
    return 0;
}

static void held_look(struct doctor *d, const struct held *h, struct doctor_line *l)
{
    const char *name = facts_daemon_name(h->which);
    struct facts_process p;
    struct status s;
    int r = facts_daemon(d, h->which, &p);

    if (r == 0 && p.pid == 0)
        return; /* another line says so */
    if (r == 0)
        r = status_read(p.pid, &s);
    if (r < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "%s: /proc: %s", name, strerror(-r));
        return;
    }
    if (s.no_new_privs != 1)
        doctor_say(l, DOCTOR_FAIL, "%s has not NoNewPrivs", name);
    if (s.bounding & ~h->caps)
        doctor_say(l, DOCTOR_FAIL, "%s has CapBnd %016" PRIx64 ", beyond %016" PRIx64, name,
                   s.bounding, h->caps);
    if (h->has_filter && s.seccomp != 2)
        doctor_say(l, DOCTOR_FAIL, "%s has no system call filter", name);
    if ((s.uid == 0) != h->is_root)
        doctor_say(l, DOCTOR_FAIL, "%s runs as uid %u", name, s.uid);
    doctor_say(l, DOCTOR_PASS, "%s CapBnd %" PRIx64, name, s.bounding);
}

void check_hardening(struct doctor *d, struct doctor_line *l)
{
    if (!facts_has_systemd()) {
        doctor_say(l, DOCTOR_SKIP, "systemd, which does it, is not the init of this host");
        return;
    }
    for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
        held_look(d, &held[i], l);
    if (!l->is_said)
        doctor_say(l, DOCTOR_SKIP, "none of them runs");
}

/* --- what sessiond can do on this host ---------------------------------------------------------
 */

/* The lock of accounts is a mount of its own for sessiond, and goes when the file is made anew. */
void check_account_lock(struct doctor *d, struct doctor_line *l)
{
    struct facts_process p;
    struct statvfs vfs;
    char path[64];
    int r = facts_daemon(d, FACTS_SESSIOND, &p);

    if (r < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "/proc: %s", strerror(-r));
    } else if (p.pid == 0) {
        doctor_say(l, DOCTOR_SKIP, "sessiond does not run");
    } else {
        (void)snprintf(path, sizeof(path), "/proc/%d/root/etc/.pwd.lock", (int)p.pid);
        if (statvfs(path, &vfs) < 0)
            doctor_say(l, DOCTOR_FAIL, "sessiond does not see /etc/.pwd.lock: %s", strerror(errno));
        else if (vfs.f_flag & ST_RDONLY)
            doctor_say(l, DOCTOR_FAIL, "/etc/.pwd.lock is read-only for sessiond");
        else
            doctor_say(l, DOCTOR_PASS, "sessiond can take /etc/.pwd.lock");
    }
}

static void on_value(void *arg, const char *value)
{
    (void)arg;
    (void)value;
}

/* What of version 2 the host could give. Return: its controllers in @buf, or "". */
static const char *v2_controllers(char buf[static 512])
{
    if (text_file_read("/sys/fs/cgroup/cgroup.controllers", buf, 512) < 0)
        buf[0] = '\0';
    return has_word(buf, "memory") && has_word(buf, "pids") && has_word(buf, "cpu") ? buf : "";
}

/* SESSIOND_CGROUP= in /etc/default/atelier: the admin does without. */
static bool is_waived(void)
{
    cleanup_file struct file defaults = {0};
    const char *start;
    size_t size, line;

    return file_read("/etc/default/atelier", &defaults) == 0 && defaults.text.bytes &&
           key_find(&defaults.text, KEYS_ASSIGN, "SESSIOND_CGROUP", &start, &size, &line) == 0 &&
           size == 0;
}

void check_cgroup_mode(struct doctor *d, struct doctor_line *l)
{
    const json_t *health = facts_sessiond(d, l);
    cleanup_json json_t *unmet = limits_unmet(health);
    cleanup_free char *bad = json_join(unmet);
    const char *mode, *v2;
    struct facts_process p;
    char controllers[512];
    bool is_asked;

    if (!health)
        return;
    mode = facts_health_text(health, "cgroup_mode");
    if (json_array_size(unmet) > 0) {
        doctor_say(
            l, DOCTOR_FAIL,
            "mode %s does not keep %s, which the policy requires: nothing starts for whom it "
            "is required",
            mode, bad);
        doctor_mend(l, "give sessiond control groups (/etc/default/atelier), or take it from "
                       "required in /etc/atelier, and systemctl reload sessiond");
        return;
    }
    v2 = v2_controllers(controllers);
    is_asked = facts_daemon(d, FACTS_SESSIOND, &p) == 0 && p.pid != 0 &&
               (facts_argument(p.pid, "--cgroup", "-g", on_value, NULL) > 0 ||
                facts_argument(p.pid, "--cgroup-v1", "-1", on_value, NULL) > 0);
    if (strcmp(mode, "none") != 0 && mode[0])
        doctor_say(l, v2[0] && strncmp(mode, "v2", 2) != 0 ? DOCTOR_WARN : DOCTOR_PASS, "mode %s%s",
                   mode,
                   v2[0] && strncmp(mode, "v2", 2) != 0 ? ", and the host has version 2" : "");
    else if (is_asked)
        doctor_say(l, DOCTOR_FAIL, "sessiond was told to use control groups, and has mode %s",
                   mode);
    else if (is_waived())
        doctor_say(l, DOCTOR_WARN,
                   "none, as /etc/default/atelier says: memory and processes are watched only");
    else
        doctor_say(l, DOCTOR_FAIL, "none: memory and processes are watched only");
}

void check_disk_limit(struct doctor *d, struct doctor_line *l)
{
    const json_t *health = facts_sessiond(d, l);
    const char *mode, *what;

    if (!health)
        return;
    mode = facts_health_text(health, "disk");
    what = facts_health_text(health, "disk_what");
    if (mode[0] && strcmp(mode, "none") != 0)
        doctor_say(l, DOCTOR_PASS, "%s", mode);
    else if (json_is_true(json_object_get(health, "disk_required")))
        doctor_say(l, DOCTOR_FAIL, "none, and the policy requires one: nothing starts: %s", what);
    else
        doctor_say(l, DOCTOR_WARN, "none: %s", what);
}

void check_canary(struct doctor *d, struct doctor_line *l)
{
    const json_t *health = facts_sessiond(d, l), *age;
    const char *canary, *what;

    if (!health)
        return;
    canary = facts_health_text(health, "canary");
    what = facts_health_text(health, "canary_what");
    age = json_object_get(health, "canary_age_ms");
    if (strcmp(canary, "holds") == 0)
        doctor_say(l, DOCTOR_PASS, "the rules held %" JSON_INTEGER_FORMAT " ms ago",
                   json_integer_value(age));
    else if (strcmp(canary, "unknown") == 0)
        doctor_say(l, DOCTOR_PASS, "not asked since the rules were loaded: nothing has started");
    else
        doctor_say(l, DOCTOR_FAIL, "%s %s: nothing is started", canary, what);
}
