/* SPDX-License-Identifier: ISC */
/*
 * step_services.c - the services: enabled, started, and seen to work; ended and disabled.
 *
 * Started means little: it is done when the API says that the network rules were proven, and when
 * the NSS module finds the registry's own group. Ending begins with the doors and ends with the
 * holder, whose end takes every session and run with it.
 */
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "ctl/client.h"
#include "ctl/say.h"
#include "ctl/setup/accounts.h"
#include "ctl/setup/nftables.h"
#include "ctl/setup/processes.h"
#include "ctl/setup/program.h"
#include "ctl/setup/step.h"
#include "ctl/setup/units.h"

#include "common/banned.h"

#define STEP      "services"
#define SYSTEMCTL "/usr/bin/systemctl"
#define GETENT    "/usr/bin/getent"
#define TIMEOUT_S 150 /* a start may take a unit's own 60 s, a stop too */
#define HEALTH_S  120
#define END_S     10 /* for what was killed to be gone */
#define PAUSE_NS  250000000

static const char *const slices[] = {"atelier.slice", NULL};

/* As the plan found them: it takes systemd a while to look at units that it has not loaded. */
static struct unit_state states[UNITS_MAX];

/* The first unit that is not enabled, or NULL. */
static const char *unit_not_enabled(void)
{
    for (size_t i = 0; our_units[i]; i++) {
        if (!states[i].is_enabled)
            return our_units[i];
    }
    return NULL;
}

/* The first unit that is not active, or NULL. */
static const char *unit_not_active(void)
{
    for (size_t i = 0; our_units[i]; i++) {
        if (!states[i].is_active)
            return our_units[i];
    }
    return NULL;
}

/* Return: 0, or -1 and it was said. */
static int units_see(const char *const *which, struct unit_state *ret)
{
    int r = units_look(which, ret);

    return r < 0 ? step_fail("systemd does not say how %s and the other units are (systemctl "
                             "show): %s",
                             which[0], strerror(-r))
                 : 0;
}

/*
 * sessiond's /etc is read-only but for the lock of accounts, which is a mount of its own in its
 * namespace. That mount goes when somebody removes the file or makes it anew (a restored /etc), and
 * is not there if the file was not when sessiond started.
 */
static bool lock_is_lost(void)
{
    cleanup_text struct text pid = {0};
    cleanup_free char *path = NULL;
    struct statvfs vfs;

    if (program_run(ARGV(SYSTEMCTL, "show", "--property=MainPID", "--value", "sessiond.service"),
                    TIMEOUT_S, &pid) != 0 ||
        strspn(pid.bytes, "0\n") == pid.size)
        return false;
    if (asprintf(&path, "/proc/%.*s/root/etc/.pwd.lock", (int)strcspn(pid.bytes, "\n"), pid.bytes) <
        0)
        say_no_memory();
    return statvfs(path, &vfs) < 0 || vfs.f_flag & ST_RDONLY;
}

static void services_plan(struct setup *s)
{
    const char *which;

    if (units_see(our_units, states) < 0) {
        s->refusals++;
        return;
    }
    which = unit_not_enabled();
    if (which)
        plan_say(s, "systemctl enable atelier.target and what belongs to it (%s is not enabled)",
                 which);
    which = unit_not_active();
    if (which)
        plan_say(s, "systemctl start atelier.target (%s is not active)", which);
    if (lock_is_lost()) {
        plan_say(s, "systemctl restart sessiond: /etc/.pwd.lock was made anew since it started, "
                    "and without it no user or group can be added");
        s->is_sessiond_restart = true;
    }
}

static int units_enable(struct setup *s)
{
    for (size_t i = 0; our_units[i]; i++) {
        int r = 0;

        if (!states[i].is_enabled)
            r = record_put(&s->record, ENTRY_UNIT, STEP, our_units[i]);
        if (r < 0)
            return step_fail("cannot write " SETUP_DIR ": %s", strerror(-r));
    }
    return units_run("enable", our_units, TIMEOUT_S);
}

static int body_ignore(void *arg, long http, const char *data, size_t size)
{
    (void)arg;
    (void)http;
    (void)data;
    (void)size;
    return 0;
}

/* Wait until the API says that all is well. Return: 0, or -1 and it was said. */
static int health_wait(void)
{
    const struct options options = {.socket = ATELIER_RUN_DIR "/admin.sock"};
    const struct client_request request = {
        .method = "GET", .path = "/v1/healthz", .timeout_s = 10, .piece = body_ignore};
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct client_result result = {0};
    time_t until = time(NULL) + HEALTH_S;

    while (result.http != 200 && time(NULL) < until) {
        client_perform(&options, &request, &result);
        if (result.http != 200)
            (void)nanosleep(&pause, NULL);
    }
    if (result.http == 200)
        return 0;
    return step_fail("the services run, but are not well after %d s (%s): see atelier status and "
                     "journalctl -u sessiond -u sessiond-api",
                     HEALTH_S, result.http ? "degraded" : result.why);
}

static int nss_verify(void)
{
    if (program_run(ARGV(GETENT, "group", GROUP_ALL_USERS), TIMEOUT_S, NULL) != 0)
        return step_fail("the registry's group " GROUP_ALL_USERS
                         " is not found: getent group " GROUP_ALL_USERS "; see nss_atelier(8)");
    /* 2: not found, getent(1). */
    if (program_run(ARGV(GETENT, "passwd", "atelier-setup-nobody"), TIMEOUT_S, NULL) != 2)
        return step_fail("a name that nobody has is found, or looking for it fails: getent passwd "
                         "atelier-setup-nobody");
    return 0;
}

/* Rules behind somebody else's would not be asked. */
static int rules_verify(void)
{
    static const char *const saves[] = {"/usr/sbin/iptables-save", "/usr/sbin/ip6tables-save"};

    for (size_t i = 0; i < sizeof(saves) / sizeof(saves[0]); i++) {
        cleanup_text struct text saved = {0};

        if (i == 1 && access("/proc/net/if_inet6", F_OK) < 0)
            continue; /* a kernel without IPv6 has no rules for it */
        if (program_run(ARGV(saves[i]), TIMEOUT_S, &saved) != 0 || !rules_are_first(&saved))
            return step_fail("the network rules are not the first ones of OUTPUT: %s shows them; "
                             "systemctl reload sessiond puts them there",
                             saves[i]);
    }
    return 0;
}

/* Those that run, and whose options changed. */
static int units_restart(struct setup *s)
{
    const char *restarted[UNITS_MAX + 1] = {NULL};
    size_t n = 0;

    for (size_t i = 0; our_units[i]; i++) {
        bool is_sessiond = strcmp(our_units[i], "sessiond.service") == 0;
        bool is_other = strcmp(our_units[i], "sessiond-api.service") == 0 ||
                        strcmp(our_units[i], "atelier-sshd.service") == 0;

        if (states[i].is_active &&
            ((is_sessiond && s->is_sessiond_restart) || (is_other && s->is_restart)))
            restarted[n++] = our_units[i];
    }
    return n > 0 ? units_run("restart", restarted, TIMEOUT_S) : 0;
}

static int services_start(struct setup *s)
{
    const char *which;
    int r;

    /* Units may be new to systemd; enabling makes it look, too. */
    r = unit_not_enabled() ? units_enable(s)
                           : must_run(ARGV(SYSTEMCTL, "daemon-reload"), TIMEOUT_S);
    if (r < 0)
        return -1;
    /* A unit that failed before is started as if it had not. */
    (void)program_run(ARGV(SYSTEMCTL, "reset-failed", "sessiond.service", "sessiond-api.service",
                           "atelier-sshd.service", "atelier-holder.service"),
                      TIMEOUT_S, NULL);
    if (units_restart(s) < 0)
        return -1;
    if (units_run("start", our_units, TIMEOUT_S) < 0)
        return -1;
    if (units_see(our_units, states) < 0)
        return -1;
    which = unit_not_active();
    return which ? step_fail("%s did not start: systemctl status %s", which, which) : 0;
}

static int services_apply(struct setup *s)
{
    if (services_start(s) < 0 || health_wait() < 0 || rules_verify() < 0)
        return -1;
    return nss_verify();
}

/* The daemons' own account, once its units have ended. Return: as processes_list(). */
static int daemons_list(FILE *out)
{
    cleanup_file struct file passwd = {0};
    uint32_t uid;
    int r = file_read("/etc/passwd", &passwd);

    if (r < 0)
        return r;
    if (account_find(&passwd.text, "atelier", &uid, NULL) < 0)
        return 0;
    return processes_list("/proc", uid, uid, out);
}

/* Return: whether one of our groups has processes in it, or cannot be looked at. */
static const char *group_not_empty(void)
{
    static const char *const groups[] = {
        "/sys/fs/cgroup/atelier.slice",
        "/sys/fs/cgroup/system.slice/atelier-sshd.service",
        "/sys/fs/cgroup/system.slice/sessiond.service",
        "/sys/fs/cgroup/system.slice/sessiond-api.service",
    };

    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (cgroup_is_populated(groups[i]) != 0)
            return groups[i];
    }
    return NULL;
}

/**
 * end_wait() - Nothing of ours is left, and nothing of a participant's, whoever started it
 *
 * What lives on would be nobody's soon: no rules of the network, no name, a uid for somebody else.
 *
 * Return: 0, or -1 and it was said what runs.
 */
static int end_wait(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    time_t until = time(NULL) + END_S;

    for (;;) {
        cleanup_text struct text left = {0};
        const char *group = group_not_empty();
        FILE *out = text_begin(&left);
        int people = processes_list("/proc", ID_NET_MIN, ID_NET_MAX, out);
        int daemons = people == 0 ? daemons_list(out) : 0;

        text_end(&left, out);
        if (people == 0 && daemons == 0 && !group)
            return 0;
        if (time(NULL) < until) {
            (void)nanosleep(&pause, NULL);
            continue;
        }
        if (people < 0 || daemons < 0)
            return step_fail("what runs cannot be seen in /proc: %s",
                             strerror(people < 0 ? -people : -daemons));
        if (people > 0)
            return step_fail("still running, and not started by atelier's services (sudo -u or "
                             "runuser of root's?): %s; end them (kill PID) and undo again",
                             left.bytes);
        if (daemons > 0)
            return step_fail("processes of the user atelier still run: %s; end them (kill PID) "
                             "and undo again",
                             left.bytes);
        return step_fail("%s still has processes: systemd-cgls %s", group,
                         group + strlen("/sys/fs/cgroup"));
    }
}

/* systemctl does not find the links of a unit whose file went with an uninstall. */
static int links_remove(const char *unit)
{
    static const char *const directories[] = {"/etc/systemd/system/multi-user.target.wants",
                                              "/etc/systemd/system/atelier.target.wants"};

    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
        cleanup_free char *path = NULL;

        if (asprintf(&path, "%s/%s", directories[i], unit) < 0)
            say_no_memory();
        if (unlink(path) < 0 && errno != ENOENT)
            return step_fail("%s cannot be removed: %s", path, strerror(errno));
    }
    (void)rmdir(directories[1]);
    return 0;
}

static int units_disable(struct setup *s)
{
    const char *ours[UNITS_MAX + 1] = {NULL};
    size_t n = 0;

    for (size_t i = 0; our_units[i]; i++) {
        if (record_has(&s->record, ENTRY_UNIT, our_units[i]))
            ours[n++] = our_units[i];
    }
    if (n > 0)
        units_try("disable", ours, TIMEOUT_S);
    for (size_t i = 0; i < n; i++) {
        if (links_remove(ours[i]) < 0)
            return -1;
        if (record_drop(&s->record, ENTRY_UNIT, ours[i]) < 0)
            return step_fail("cannot write " SETUP_DIR);
    }
    return 0;
}

/* Return: 0 if systemd says of each that it has ended, or -1 and it was said. */
static int units_see_ended(const char *const *which)
{
    struct unit_state now[UNITS_MAX];

    if (units_see(which, now) < 0)
        return -1;
    for (size_t i = 0; which[i]; i++) {
        if (!now[i].is_ended)
            return step_fail("%s has not ended: systemctl status %s", which[i], which[i]);
    }
    return 0;
}

static int services_undo(struct setup *s)
{
    /* All in one: systemd ends them in the order of their dependencies. */
    units_try("stop", our_units, TIMEOUT_S);
    units_try("stop", slices, TIMEOUT_S);
    /* KillMode=process leaves logins that had no session yet. */
    (void)program_run(
        ARGV(SYSTEMCTL, "kill", "--signal=KILL", "atelier-sshd.service", "sessiond.service"),
        TIMEOUT_S, NULL);
    if (units_see_ended(our_units) < 0 || units_see_ended(slices) < 0 || end_wait() < 0)
        return -1;
    if (units_disable(s) < 0)
        return -1;
    (void)program_run(ARGV(SYSTEMCTL, "reset-failed", "sessiond.service", "sessiond-api.service",
                           "atelier-sshd.service", "atelier-holder.service"),
                      TIMEOUT_S, NULL);
    return 0;
}

const struct step step_services = {STEP, services_plan, services_apply, services_undo};
