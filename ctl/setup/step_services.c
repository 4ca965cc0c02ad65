/* SPDX-License-Identifier: ISC */
/*
 * step_services.c - the services: enabled, started, and seen to work; ended and disabled.
 *
 * Started means little: it is done when the API says that the network rules were proven, and when
 * the NSS module finds the registry's own group. Ending begins with the doors and ends with the
 * holder, whose end takes every session and run with it.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "common/str.h"
#include "ctl/client.h"
#include "ctl/say.h"
#include "ctl/setup/nftables.h"
#include "ctl/setup/program.h"
#include "ctl/setup/step.h"
#include "ctl/setup/units.h"

#include "common/banned.h"

#define STEP      "services"
#define SYSTEMCTL "/usr/bin/systemctl"
#define GETENT    "/usr/bin/getent"
#define TIMEOUT_S 150 /* a start may take a unit's own 60 s, a stop too */
#define HEALTH_S  120
#define PAUSE_NS  250000000

static const char *const units[] = {
    "atelier.target",
    "atelier-holder.service",
    "sessiond.service",
    "sessiond-api.service",
    "atelier-sshd.service",
    "atelier-core.socket",
    "atelier-session.socket",
    "atelier-api.socket",
    "atelier-admin.socket",
    "atelier-pam.socket",
    NULL,
};
#define SLICE "atelier.slice"

/* As the plan found them: it takes systemd a while to look at units that it has not loaded. */
static struct unit_state states[UNITS_MAX];

/* The first unit that is not enabled, or NULL. */
static const char *unit_not_enabled(void)
{
    for (size_t i = 0; units[i]; i++) {
        if (!states[i].is_enabled)
            return units[i];
    }
    return NULL;
}

/* The first unit that is not active, or NULL. */
static const char *unit_not_active(void)
{
    for (size_t i = 0; units[i]; i++) {
        if (!states[i].is_active)
            return units[i];
    }
    return NULL;
}

static void services_plan(struct setup *s)
{
    const char *which;

    units_look(units, states);
    which = unit_not_enabled();
    if (which)
        plan_say(s, "systemctl enable atelier.target and what belongs to it (%s is not enabled)",
                 which);
    which = unit_not_active();
    if (which)
        plan_say(s, "systemctl start atelier.target (%s is not active)", which);
    else if (s->planned > 0 && (s->options->port || s->options->link_base))
        s->is_restart = true;
}

static int units_enable(struct setup *s)
{
    for (size_t i = 0; units[i]; i++) {
        int r = 0;

        if (!states[i].is_enabled)
            r = record_put(&s->record, ENTRY_UNIT, STEP, units[i]);
        if (r < 0)
            return step_fail("cannot write " SETUP_DIR ": %s", strerror(-r));
    }
    return units_run("enable", units, TIMEOUT_S);
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

static int services_start(struct setup *s)
{
    static const char *const restarted[] = {"sessiond-api.service", "atelier-sshd.service", NULL};
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
    if (s->is_restart && units_run("restart", restarted, TIMEOUT_S) < 0)
        return -1;
    if (units_run("start", units, TIMEOUT_S) < 0)
        return -1;
    units_look(units, states);
    which = unit_not_active();
    return which ? step_fail("%s did not start: systemctl status %s", which, which) : 0;
}

static int services_apply(struct setup *s)
{
    if (services_start(s) < 0 || health_wait() < 0 || rules_verify() < 0)
        return -1;
    return nss_verify();
}

/* Processes of participants that are left, whoever started them. */
static void processes_note(struct setup *s)
{
    DIR *proc = opendir("/proc");
    struct dirent *d;

    while (proc && (d = readdir(proc))) {
        struct stat st;
        uint32_t pid;

        if (str_to_u32(d->d_name, UINT32_MAX, &pid) == 0 &&
            fstatat(dirfd(proc), d->d_name, &st, 0) == 0 && st.st_uid >= ID_NET_MIN &&
            st.st_uid <= ID_NET_MAX)
            note_say(s, "process %u of uid %u still runs; it was not started by atelier's services",
                     pid, (unsigned)st.st_uid);
    }
    if (proc)
        (void)closedir(proc);
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

    for (size_t i = 0; units[i]; i++) {
        if (record_has(&s->record, ENTRY_UNIT, units[i]))
            ours[n++] = units[i];
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

static int services_undo(struct setup *s)
{
    /* All in one: systemd ends them in the order of their dependencies. */
    units_try("stop", units, TIMEOUT_S);
    units_look(units, states);
    for (size_t i = 0; units[i]; i++) {
        if (states[i].is_active)
            return step_fail("%s cannot be stopped: systemctl status %s", units[i], units[i]);
    }
    (void)program_run(ARGV(SYSTEMCTL, "stop", SLICE), TIMEOUT_S, NULL);
    /* KillMode=process leaves logins that had no session yet. */
    (void)program_run(
        ARGV(SYSTEMCTL, "kill", "--signal=KILL", "atelier-sshd.service", "sessiond.service"),
        TIMEOUT_S, NULL);
    processes_note(s);
    if (units_disable(s) < 0)
        return -1;
    (void)program_run(ARGV(SYSTEMCTL, "reset-failed", "sessiond.service", "sessiond-api.service",
                           "atelier-sshd.service", "atelier-holder.service"),
                      TIMEOUT_S, NULL);
    return 0;
}

const struct step step_services = {STEP, services_plan, services_apply, services_undo};
