/* SPDX-License-Identifier: ISC */
/*
 * main.c - sessiond: the root process.
 *
 * Start, in this order:
 *   1. descriptors, signals, environment   (nothing inherited decides anything)
 *   2. sockets, policy, homes, host's namespaces, control groups (cheap checks before anything is
 *      changed)
 *   3. network rules                       (before anything could use the network)
 *   4. filter and texts, then the spawner  (forked while this process is small and has no events)
 *   5. event loop, what the kernel says of a filter, canary, core.sock, the watch over the rules
 *   6. sessions that live already, session.sock; then what is left of those that do not
 *   7. READY
 * A step that fails ends the start: a host that cannot be confined gets no runs.
 */
#include <argp.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "policy/filter.h"
#include "policy/plan.h"
#include "sessiond/monitor/canary.h"
#include "sessiond/monitor/cgroup.h"
#include "sessiond/monitor/core.h"
#include "sessiond/monitor/disk.h"
#include "sessiond/monitor/filter_proof.h"
#include "sessiond/monitor/guard.h"
#include "sessiond/monitor/home.h"
#include "sessiond/monitor/monitor.h"
#include "sessiond/monitor/net.h"
#include "sessiond/monitor/net_count.h"
#include "sessiond/monitor/net_follow.h"
#include "sessiond/monitor/net_table.h"
#include "sessiond/monitor/netkeep.h"
#include "sessiond/monitor/nscd.h"
#include "sessiond/monitor/policy_load.h"
#include "sessiond/monitor/policy_tool.h"
#include "sessiond/monitor/proc_watch.h"
#include "sessiond/monitor/receipt.h"
#include "sessiond/monitor/scope.h"
#include "sessiond/monitor/session.h"
#include "sessiond/monitor/skills.h"
#include "sessiond/monitor/spawner.h"
#include "sessiond/monitor/watchdog.h"
#include "sessiond/shared/listen_fds.h"
#include "sessiond/shared/log.h"
#include "sessiond/shared/notify.h"

#include "common/banned.h"

#define ETC_FILE_LIMIT (1u << 20)
#define MONITOR_NICE   (-5)
/*
 * Three descriptors a session, eight a run that is on its way, for both a leaf and a user's group,
 * and what there is besides.
 */
#define NOFILE_LEAST  (5 * WIRE_SESSIONS_MAX + 11 * WIRE_RUNS_MAX + 128)
#define NOFILE_WANTED 8192
_Static_assert(NOFILE_LEAST <= NOFILE_WANTED, "that is enough");

struct daemon {
    struct monitor monitor;
    struct net_config net;
    struct spawner_setup setup;
    struct cgroup_config groups;
    int spawner_pidfd;
    int exit_code;
    bool is_removal;       /* take the network rules away, do nothing else */
    enum policy_tool tool; /* look at the policy, do nothing else */
    const char *tool_file, *tool_who;
};

const char *argp_program_version = PACKAGE_STRING;

#define OPTION_REMOVE_RULES 256 /* no short form: nobody may type it by mistake */

#define OPTION_CHECK   257
#define OPTION_SHOW    258
#define OPTION_EXPLAIN 259
#define OPTION_FILTER  260
#define OPTION_LITE    261
#define OPTION_LOOSE   262
#define OPTION_NAMES   263

static const struct argp_option options[] = {
    {"check-policy", OPTION_CHECK, "FILE", OPTION_ARG_OPTIONAL,
     "Read the policy (or FILE alone, of any owner), say what is wrong, and exit", 0},
    {"show-policy", OPTION_SHOW, "FILE", OPTION_ARG_OPTIONAL, "Show all of it, and exit", 0},
    {"loosened-policy", OPTION_LOOSE, "FILE", OPTION_ARG_OPTIONAL,
     "Show what of it gives more than what is shipped, and exit", 0},
    {"explain-policy", OPTION_EXPLAIN, "UID[:GID,...]", 0,
     "Show what this user gets by it, and exit", 0},
    {"show-names", OPTION_NAMES, 0, 0,
     "Show what the names of the policy stand for, as the running sessiond knows it, and exit", 0},
    {"show-filter", OPTION_FILTER, "run|login", 0,
     "Show the system calls that runs or sessions do not get, and exit", 0},
    {"remove-network-rules", OPTION_REMOVE_RULES, 0, 0,
     "Take the network rules away, and exit: participants are no longer held", 0},
    {"resolver", 'r', "ADDRESS", 0, "Open ADDRESS on port 53 to runs with net public (repeatable)",
     0},
    {"cgroup", 'g', "DIR", 0,
     "Make a control group for each run and session below DIR, a version 2 group that is delegated "
     "to us; nothing starts without its limits",
     0},
    {"cgroup-v1", '1', "CONTROLLER=DIR", 0,
     "The same for a host with version 1: memory, pids, cpu, cpuacct (repeatable)", 0},
    {"cgroup-lite", OPTION_LITE, "DIR", 0,
     "Make groups below DIR, too, of a version 2 tree without controllers: they limit nothing", 0},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct daemon *d = state->input;

    switch (key) {
    case OPTION_REMOVE_RULES:
        d->is_removal = true;
        return 0;
    case OPTION_CHECK:
    case OPTION_SHOW:
    case OPTION_LOOSE:
        d->tool = key == OPTION_CHECK  ? POLICY_TOOL_CHECK
                  : key == OPTION_SHOW ? POLICY_TOOL_SHOW
                                       : POLICY_TOOL_LOOSENED;
        d->tool_file = arg;
        return 0;
    case OPTION_EXPLAIN:
    case OPTION_FILTER:
        d->tool = key == OPTION_EXPLAIN ? POLICY_TOOL_EXPLAIN : POLICY_TOOL_FILTER;
        d->tool_who = arg;
        return 0;
    case 'r':
        switch (net_resolver_add(&d->net, arg)) {
        case 0:
            return 0;
        case -E2BIG:
            argp_error(state, "more than %d resolvers", NET_RESOLVERS_MAX);
            return EINVAL;
        default:
            argp_error(state, "'%s' is not an address", arg);
            return EINVAL;
        }
    case OPTION_NAMES:
        d->tool = POLICY_TOOL_NAMES;
        return 0;
    case 'g':
    case OPTION_LITE:
        if (arg[0] != '/' || d->groups.v2_dir) {
            argp_error(state, "--cgroup and --cgroup-lite take one absolute path, once");
            return EINVAL;
        }
        d->groups.v2_dir = arg;
        d->groups.is_lite = key == OPTION_LITE;
        return 0;
    case '1':
        if (cgroup_config_v1(&d->groups, arg) < 0) {
            argp_error(state, "'%s' is not memory=DIR, pids=DIR, cpu=DIR or cpuacct=DIR, each once",
                       arg);
            return EINVAL;
        }
        return 0;
    case ARGP_KEY_ARG:
        if (d->tool != POLICY_TOOL_NONE && d->tool != POLICY_TOOL_FILTER && !d->tool_file) {
            d->tool_file = arg;
            return 0;
        }
        argp_error(state, "there are no arguments, only options");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    .options = options,
    .parser = parse_option,
    .doc = "Start runs and sessions.  Needs two sockets, 'core' and 'session', by LISTEN_FDS.",
};

/* --- what is inherited --------------------------------------------------------------------- */

static void stdio_ensure(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd < 3);
    if (fd > 2)
        (void)close(fd);
}

static void signals_reset(void)
{
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Out of descriptors nothing could be proven any more, and nothing would start for anybody. */
static int files_raise(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return -errno;
    if (files.rlim_max < NOFILE_LEAST)
        return -EMFILE;
    if (files.rlim_cur >= NOFILE_WANTED)
        return 0;
    files.rlim_cur = files.rlim_max < NOFILE_WANTED ? files.rlim_max : NOFILE_WANTED;
    return setrlimit(RLIMIT_NOFILE, &files) < 0 ? -errno : 0;
}

/* --- start --------------------------------------------------------------------------------- */

static int text_read(const char *path, char **ret_text)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = malloc(ETC_FILE_LIMIT);
    size_t n;
    int r;

    if (fd < 0 || !text) {
        r = fd < 0 ? -errno : -ENOMEM;
        free(text);
        return r;
    }
    r = fd_read_full(fd, text, ETC_FILE_LIMIT - 1, &n);
    if (r < 0) {
        free(text);
        return r;
    }
    text[n] = '\0';
    *ret_text = text;
    return 0;
}

static int system_lines(const char *path, bool is_group, const char **ret_lines)
{
    char *text = NULL, *lines = NULL;
    int r = text_read(path, &text);

    if (r < 0)
        return r;
    r = plan_system_lines(text, is_group, &lines);
    free(text);
    if (r == 0)
        *ret_lines = lines;
    return r;
}

static int texts_make(struct daemon *d, const char **ret_what)
{
    char *resolv;
    int r;

    *ret_what = "/etc/passwd";
    r = system_lines("/etc/passwd", false, &d->setup.texts.passwd);
    if (r < 0)
        return r;
    *ret_what = "/etc/group";
    r = system_lines("/etc/group", true, &d->setup.texts.group);
    if (r < 0)
        return r;
    *ret_what = "resolv.conf";
    r = plan_resolv_conf(d->net.resolvers, d->net.resolver_count, &resolv);
    if (r == 0)
        d->setup.texts.resolv_conf = resolv;
    return r;
}

static int protections_start(struct daemon *d, const char **ret_what)
{
    struct monitor *m = &d->monitor;
    int r;

    *ret_what = "networks of the host";
    r = net_follow_prepare(&d->net);
    if (r == 0)
        r = net_load(&d->net, &m->net_revision, &m->net_cgroup, &m->had_net_rules, ret_what);
    if (r < 0)
        return r;
    log_info("network rules loaded revision=%u cgroup=%s", m->net_revision,
             m->net_cgroup ? "yes" : "no");
    if (d->net.has_no_cgroup_match)
        log_warning("this host's iptables or kernel has no match by control group: who changes the "
                    "UID is held by the rest alone");
    *ret_what = "system call filter";
    r = filter_build(FILTER_RUN, &d->setup.filter, &d->setup.filter_count);
    if (r == 0)
        r = texts_make(d, ret_what);
    if (r == 0)
        r = spawner_start(&d->setup, &m->spawner_sock, &d->spawner_pidfd, ret_what);
    return r;
}

/* --- loop ---------------------------------------------------------------------------------- */

static void on_terminate(evutil_socket_t sig, short what, void *arg)
{
    struct daemon *d = arg;

    (void)what;
    log_info("ending signal=%d runs=%u sessions=%u (sessions stay)", (int)sig, d->monitor.run_count,
             session_count(&d->monitor));
    notify_send("STOPPING=1");
    (void)event_base_loopbreak(d->monitor.base);
}

/* All or nothing. What lives keeps what it has either way. */
static void policy_again(struct daemon *d, struct config_error *error)
{
    char status[sizeof(error->text) + 64];

    if (policy_load(&d->monitor, error) == 0) {
        log_info("policy read again profiles=%u", d->monitor.policy->count);
        disk_look(d->monitor.disk);
        policy_limits_look(&d->monitor);
        notify_send("STATUS=");
        return;
    }
    log_error("the policy was not read again, the old one stays: %s", error->text);
    (void)snprintf(status, sizeof(status), "STATUS=The old policy stays: %s", error->text);
    notify_send(status);
}

static void on_hangup(evutil_socket_t sig, short what, void *arg)
{
    struct daemon *d = arg;
    struct config_error error;

    (void)sig;
    (void)what;
    policy_again(d, &error);
    d->net.policy = &d->monitor.policy->net;
    net_follow_policy(d->monitor.net_follow);
    netkeep_reload(d->monitor.netkeep);
}

/* Without a spawner nothing can start and nothing that runs is watched over: end, be restarted. */
static void on_spawner_dead(evutil_socket_t fd, short what, void *arg)
{
    struct daemon *d = arg;

    (void)fd;
    (void)what;
    log_error("the spawner died");
    d->exit_code = EX_SOFTWARE;
    (void)event_base_loopbreak(d->monitor.base);
}

/*
 * Timers by a clock that is read, and not by the one that the kernel's tick moves (4 ms on Debian):
 * a run waits for a look at its filter that is due after 0.1 ms. Source: event_config_set_flag() of
 * libevent.
 */
static struct event_base *base_new(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config && event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) == 0)
        base = event_base_new_with_config(config);
    if (config)
        event_config_free(config);
    return base;
}

static int serve(struct daemon *d, int core_fd, int session_fd, const char **ret_what)
{
    struct monitor *m = &d->monitor;
    struct event *events[4] = {0};
    int r;

    *ret_what = "event loop";
    m->base = base_new();
    if (!m->base)
        return -ENOMEM;
    *ret_what = "what the kernel says of a system call filter";
    filter_proof_program(FILTER_RUN, d->setup.filter, d->setup.filter_count);
    r = filter_proof_init(m->base);
    if (r < 0)
        return r;
    *ret_what = "the canary";
    r = canary_new(m->base, m->spawner_sock, m->cgroup, &m->canary);
    if (r < 0)
        return r;
    r = nscd_new(m->base, NULL, &m->nscd);
    if (r == 0)
        r = net_count_new(m);
    if (r == 0)
        r = core_new(m, core_fd);
    if (r == 0)
        r = guard_new(m);
    if (r < 0)
        return r;
    *ret_what = "a watch over the network rules";
    r = netkeep_new(m, &d->net);
    if (r == 0)
        r = net_follow_new(m, &d->net);
    if (r < 0)
        return r;
    *ret_what = "disk";
    r = disk_new(m, &m->disk);
    if (r < 0)
        return r;
    *ret_what = "control groups";
    r = cgroup_start(m->cgroup, m->base);
    if (r < 0)
        return r;
    *ret_what = "Landlock";
    r = scope_init(&m->scope, m->base);
    if (r == 0)
        r = session_init(m, session_fd, ret_what);
    if (r < 0)
        return r;
    cgroup_sweep(m->cgroup);
    *ret_what = "event loop";
    r = watchdog_init(m);
    if (r < 0)
        return r;
    events[0] = evsignal_new(m->base, SIGTERM, on_terminate, d);
    events[1] = evsignal_new(m->base, SIGINT, on_terminate, d);
    events[2] = evsignal_new(m->base, SIGHUP, on_hangup, d);
    events[3] = event_new(m->base, d->spawner_pidfd, EV_READ, on_spawner_dead, d);
    for (int i = 0; i < 4; i++) {
        if (!events[i] || event_add(events[i], NULL) < 0)
            return -ENOMEM;
    }
    notify_send("READY=1");
    log_info("ready");
    (void)event_base_dispatch(m->base);
    /* The death of this process ends the spawner and with it every init, whatever happens here. */
    core_free(m->core);
    disk_free(m->disk);
    return 0;
}

static int rules_remove(void)
{
    const char *what;
    int r = net_unload(&what);

    if (r == 0) {
        what = "nft";
        r = net_table_remove();
    }
    if (r == 0)
        return EXIT_SUCCESS;
    log_error("the network rules cannot be removed: %s: %s", what,
              r == -EPROTO ? "it was refused, for the reason above" : strerror(-r));
    return EX_UNAVAILABLE;
}

static int start_failed(const char *what, int r)
{
    log_error("cannot start: %s: %s", what, strerror(-r));
    return EX_UNAVAILABLE;
}

int main(int argc, char *argv[])
{
    static struct daemon d;
    struct listen_fd sockets[] = {{.name = "core", .type = SOCK_SEQPACKET},
                                  {.name = "session", .type = SOCK_SEQPACKET}};
    struct config_error error;
    const char *what;
    int r;

    stdio_ensure();
    signals_reset();
    notify_init();
    (void)argp_parse(&parser, argc, argv, 0, NULL, &d);
    config_skill_pin = skills_pin;
    if (d.tool != POLICY_TOOL_NONE)
        return policy_tool_run(d.tool, d.tool_file, d.tool_who);
    log_init("sessiond");
    if (geteuid() != 0 || getuid() != 0) {
        log_error("cannot start: only root can confine others");
        return EX_NOPERM;
    }
    if (d.is_removal)
        return rules_remove();
    (void)umask(077);
    (void)prctl(PR_SET_DUMPABLE, 0);
    /* Ours must still be answered when participants keep every processor busy; runs start at 0. */
    (void)setpriority(PRIO_PROCESS, 0, MONITOR_NICE);
    if (chdir("/") < 0)
        return start_failed("/", -errno);
    r = files_raise();
    if (r < 0)
        return start_failed("the hard limit of open files (LimitNOFILE) is too low", r);
    r = listen_fds_take(sockets, sizeof(sockets) / sizeof(sockets[0]), &what);
    if (r < 0)
        return start_failed(what, r);
    r = policy_load(&d.monitor, &error);
    if (r < 0) {
        log_error("cannot start: the policy is wrong: %s", error.text);
        return EX_CONFIG;
    }
    d.net.policy = &d.monitor.policy->net;
    d.net.cgroup_dir = d.groups.v2_dir;
    r = home_init(&what);
    if (r < 0)
        return start_failed(what, r);
    r = receipt_init();
    if (r < 0)
        return start_failed("/proc/self/ns", r);
    r = cgroup_new(&d.groups, &d.monitor.cgroup, &what);
    if (r < 0)
        return start_failed(what, r);
    policy_limits_look(&d.monitor);
    r = proc_watch_init();
    if (r < 0)
        log_warning(
            "this kernel lists no children of a process: what no control group limits is not "
            "limited errno=%d",
            -r);
    r = proc_watch_clock_init();
    if (r < 0 && !cgroup_counts_cpu(d.monitor.cgroup))
        log_warning("this host has no perf_event_open(2) for us: the processor time of who is not "
                    "waited for is not limited errno=%d",
                    -r);
    r = protections_start(&d, &what);
    if (r < 0)
        return start_failed(what, r);
    r = serve(&d, sockets[0].fd, sockets[1].fd, &what);
    if (r < 0)
        return start_failed(what, r);
    return d.exit_code;
}
