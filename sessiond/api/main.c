/* SPDX-License-Identifier: ISC */
/*
 * main.c - sessiond-api: the HTTP API and the owner of the registry, without any privilege.
 *
 * It is started as the user atelier with three listening sockets, and has nothing to give up. It
 * refuses to be root: a hole in it must be worth no more than the rights of that user.
 */
#include <argp.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "common/ids.h"
#include "common/str.h"
#include "magic-link/magic_link.h"
#include "sessiond/api/app.h"
#include "sessiond/api/audit.h"
#include "sessiond/api/core.h"
#include "sessiond/api/health.h"
#include "sessiond/api/hostcheck.h"
#include "sessiond/api/http.h"
#include "sessiond/api/lock.h"
#include "sessiond/api/lockout.h"
#include "sessiond/api/network.h"
#include "sessiond/api/nsswitch.h"
#include "sessiond/api/pam.h"
#include "sessiond/api/run.h"
#include "sessiond/api/session.h"
#include "sessiond/shared/listen_fds.h"
#include "sessiond/shared/log.h"
#include "sessiond/shared/notify.h"

#include "common/banned.h"

/* Runs are given this long to end and to be audited when we are told to end. */
#define STOP_S 2
/* Two doors of 512 connections and their duplicates, 256 runs with four pipe ends. */
#define NOFILE_WANTED 8192u

struct options {
    const char *core_path;
    const char *state_dir;
    char link_base[LINK_URL_SIZE];
    struct registry_options registry;
};

const char *argp_program_version = PACKAGE_STRING;

static const struct argp_option option_table[] = {
    {"core", 'c', "PATH", 0, "Socket of sessiond [" ATELIER_RUN_DIR "/core.sock]", 0},
    {"id-range", 'i', "MIN-MAX", 0, "Give out these uids and gids alone [10000-59899]", 0},
    {"link-base", 'l', "URL", 0, "Where links lead [https://HOSTNAME/]", 0},
    {"state", 's', "DIR", 0, "Directory of registry/ and nss/ [" ATELIER_STATE_DIR "]", 0},
    {0},
};

/* "MIN-MAX". Return: 0 or -EINVAL. */
static int id_range_parse(const char *text, struct registry_options *o)
{
    const char *dash = strchr(text, '-');
    char first[8] = "";
    uint32_t min, max;

    if (!dash || (size_t)(dash - text) >= sizeof(first))
        return -EINVAL;
    memcpy(first, text, (size_t)(dash - text));
    if (str_to_u32(first, ID_ALLOC_MAX, &min) < 0 || str_to_u32(dash + 1, ID_ALLOC_MAX, &max) < 0)
        return -EINVAL;
    if (min < ID_ALLOC_MIN || min > max)
        return -EINVAL;
    o->id_min = min;
    o->id_max = max;
    return 0;
}

static error_t option_parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 'c':
        o->core_path = arg;
        return 0;
    case 'i':
        if (id_range_parse(arg, &o->registry) < 0)
            argp_error(state, "not a range of ids within %u-%u: %s", ID_ALLOC_MIN, ID_ALLOC_MAX,
                       arg);
        return 0;
    case 'l':
        if (!magic_link_base_is_valid(arg) || str_copy(o->link_base, sizeof(o->link_base), arg) < 0)
            argp_error(state, "not a base for links (https://HOST[:PORT][/PATH]): %s", arg);
        return 0;
    case 's':
        o->state_dir = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument: %s", arg);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_table,
    .parser = option_parse,
    .doc = "HTTP API of atelier. Takes the listening sockets api, admin and pam by LISTEN_FDS.",
};

/* --- what sessiond says --- */

static void core_down(void *arg)
{
    struct app *app = arg;

    run_table_down(app->runs);
    session_table_down(app->sessions);
    lock_queue_down(app->locks);
    health_down(app->health);
    network_down(app->network);
}

/* The last `end` still has to reach its client. */
static void check_stopped(const struct app *app)
{
    static const struct timeval soon = {.tv_usec = 50000};

    if (app->is_stopping && run_table_count(app->runs) == 0)
        (void)event_base_loopexit(app->base, &soon);
}

static int core_run_started(void *arg, const struct wire_run_started *m)
{
    const struct app *app = arg;

    return run_table_started(app->runs, m);
}

static int core_run_failed(void *arg, const struct wire_run_failed *m)
{
    const struct app *app = arg;
    int r = run_table_failed(app->runs, m);

    check_stopped(app);
    return r;
}

static int core_run_ended(void *arg, const struct wire_run_ended *m)
{
    const struct app *app = arg;
    int r = run_table_ended(app->runs, m);

    check_stopped(app);
    return r;
}

static void core_session_ask(void *arg, const struct wire_session_ask *m)
{
    const struct app *app = arg;

    session_table_asked(app->sessions, m);
}

static int core_session_started(void *arg, const struct wire_session_started *m)
{
    const struct app *app = arg;

    return session_table_started(app->sessions, m);
}

static int core_session_failed(void *arg, const struct wire_session_failed *m)
{
    const struct app *app = arg;

    return session_table_failed(app->sessions, m);
}

static int core_session_ended(void *arg, const struct wire_session_ended *m)
{
    const struct app *app = arg;

    return session_table_ended(app->sessions, m);
}

static void core_session_synced(void *arg)
{
    const struct app *app = arg;

    session_table_synced(app->sessions);
    health_heard(app->health);
}

static void core_lock(void *arg, enum wire_type type)
{
    const struct app *app = arg;

    lock_queue_event(app->locks, type);
}

static void core_status(void *arg, const struct wire_status *m)
{
    const struct app *app = arg;

    health_status(app->health, m);
}

static int core_net_page(void *arg, const struct wire_net_page *m)
{
    const struct app *app = arg;

    health_heard(app->health);
    return network_page(app->network, m);
}

static const struct core_events core_events = {
    .net_page = core_net_page,
    .down = core_down,
    .run_started = core_run_started,
    .run_failed = core_run_failed,
    .run_ended = core_run_ended,
    .session_ask = core_session_ask,
    .session_started = core_session_started,
    .session_failed = core_session_failed,
    .session_ended = core_session_ended,
    .session_synced = core_session_synced,
    .lock = core_lock,
    .status = core_status,
};

/* --- start and end --- */

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    static const struct timeval limit = {.tv_sec = STOP_S};
    struct app *app = arg;

    (void)what;
    log_info("told to end signal=%d runs=%u", (int)number, run_table_count(app->runs));
    notify_send("STOPPING=1");
    app->is_stopping = true;
    for (int i = 0; i < DOOR__COUNT; i++)
        door_quiesce(app->doors[i]);
    pam_door_quiesce(app->pam);
    run_table_stop(app->runs);
    (void)event_base_loopexit(app->base, &limit);
    check_stopped(app);
}

/* What the process gives up for good, and the limits it wants. */
static int harden(void)
{
    struct rlimit files;

    (void)umask(077);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || getrlimit(RLIMIT_NOFILE, &files) < 0)
        return -errno;
    if (files.rlim_cur < NOFILE_WANTED) {
        files.rlim_cur = files.rlim_max < NOFILE_WANTED ? files.rlim_max : NOFILE_WANTED;
        if (setrlimit(RLIMIT_NOFILE, &files) < 0)
            return -errno;
    }
    /* Large buffers (rings, bodies) go back to the kernel when they are freed (mallopt(3)). */
    (void)mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    return sodium_init() < 0 ? -EIO : 0;
}

static const char *key_fault(int r)
{
    switch (-r) {
    case EPERM:
        return "must be a regular file that belongs to this daemon's user, mode 0600";
    case EBADMSG:
        return "must have 32 bytes";
    default: /* an errno, not an enum */
        return strerrordesc_np(-r);
    }
}

/*
 * The registry, and the key beside it. A new registry gives out its first gid here, without the
 * password lock: sessiond may need us to be up first.
 */
static int state_open(struct app *app, const char *state_dir, const struct registry_options *range)
{
    struct hostcheck check = {.deadline_ms = INT64_MAX};
    const struct registry_options options = {
        .id_min = range->id_min,
        .id_max = range->id_max,
        .taken = hostcheck_taken,
        .arg = &check,
    };
    int r = nsswitch_direct(NSSWITCH_FILE);

    if (r < 0) {
        log_error("the sources of names could not be read: %s", strerrordesc_np(-r));
        return r;
    }
    r = registry_open(state_dir, &options, &app->reg);

    if (r < 0) {
        log_error("the registry could not be opened: %s", registry_error(NULL));
        return r;
    }
    if (registry_index_found(app->reg) == INDEX_FOUND_ANOTHER)
        log_warning("the index was not what the registry says, and was written anew: after a crash "
                    "this is no more than a change that was not published yet");
    r = magic_link_open(state_dir, &app->links);
    if (r < 0)
        log_error("the key of the links could not be loaded: %s/registry/link.key: %s; mend it, or "
                  "move it away: then a new one is made, and links that are open are void",
                  state_dir, key_fault(r));
    return r;
}

/* Called inside a change of the registry. Without sessiond it is said when it is back: core.c. */
static void on_publish(void *arg)
{
    const struct app *app = arg;

    (void)core_send_head(app->core, WIRE_NSS_CHANGED, 0);
}

/* The order on the loop does not matter: everything is on one thread. */
static int app_open(struct app *app, const struct options *o)
{
    struct listen_fd sockets[] = {
        {.name = "api", .type = SOCK_STREAM},
        {.name = "admin", .type = SOCK_STREAM},
        {.name = "pam", .type = SOCK_SEQPACKET},
    };
    const char *about = "LISTEN_FDS";
    int r = listen_fds_take(sockets, sizeof(sockets) / sizeof(sockets[0]), &about);

    app->link_base = o->link_base;
    if (r == 0) {
        about = o->state_dir;
        r = state_open(app, o->state_dir, &o->registry);
    }
    if (r == 0) {
        about = "event loop";
        app->base = event_base_new();
        r = app->base ? 0 : -ENOMEM;
    }
    if (r == 0)
        r = audit_new(app, &app->audit);
    if (r == 0)
        r = run_table_new(app, &app->runs);
    if (r == 0)
        r = session_table_new(app, &app->sessions);
    if (r == 0)
        r = lockout_new(app, &app->lockout);
    if (r == 0)
        r = lock_queue_new(app, &app->locks);
    if (r == 0)
        r = health_new(app, &app->health);
    if (r == 0)
        r = network_new(app, &app->network);
    if (r == 0) {
        about = o->core_path;
        r = core_new(app->base, o->core_path, &core_events, app, &app->core);
    }
    if (r == 0)
        registry_on_publish(app->reg, on_publish, app);
    for (int i = 0; r == 0 && i < DOOR__COUNT; i++) {
        about = sockets[i].name;
        r = door_open(app, (enum door_kind)i, sockets[i].fd, &app->doors[i]);
    }
    if (r == 0) {
        about = sockets[DOOR__COUNT].name;
        r = pam_door_open(app, sockets[DOOR__COUNT].fd, &app->pam);
    }
    if (r < 0)
        log_error("could not start: %s: %s", about, strerrordesc_np(-r));
    return r;
}

/* Nobody may wait for sessiond any more when the doors close, and nobody ask when it is gone. */
static void app_close(struct app *app)
{
    app->is_stopping = true;
    if (app->core) {
        core_down(app);
        core_free(app->core);
    }
    for (int i = 0; i < DOOR__COUNT; i++)
        door_close(app->doors[i]);
    pam_door_close(app->pam);
    health_free(app->health);
    network_free(app->network);
    lock_queue_free(app->locks);
    lockout_free(app->lockout);
    session_table_free(app->sessions);
    run_table_free(app->runs);
    audit_free(app->audit);
    magic_link_close(app->links);
    if (app->reg)
        registry_close(app->reg);
    if (app->base)
        event_base_free(app->base);
}

/* A link leads to this host by its own name, unless the administrator knows a better one. */
static int link_base_default(struct options *o)
{
    char host[256] = "";

    if (o->link_base[0])
        return 0;
    if (gethostname(host, sizeof(host) - 1) < 0)
        return -errno;
    (void)snprintf(o->link_base, sizeof(o->link_base), "https://%s/", host);
    return magic_link_base_is_valid(o->link_base) ? 0 : -EINVAL;
}

/* HTTP, logins and the line to sessiond are all on this loop: if this is called, they are, too. */
static void on_watchdog(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    notify_send("WATCHDOG=1");
}

/* Return: 0 or -ENOMEM. */
static int watchdog_start(struct app *app, struct event **ret_event)
{
    uint32_t ms = notify_watchdog_ms();
    const struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};

    if (ms == 0)
        return 0;
    *ret_event = event_new(app->base, -1, EV_PERSIST, on_watchdog, NULL);
    return *ret_event && event_add(*ret_event, &tv) == 0 ? 0 : -ENOMEM;
}

static int app_serve(struct app *app)
{
    struct event *term = evsignal_new(app->base, SIGTERM, on_signal, app);
    struct event *interrupt = evsignal_new(app->base, SIGINT, on_signal, app);
    struct event *watchdog = NULL;
    int r = watchdog_start(app, &watchdog);

    if (!term || !interrupt || evsignal_add(term, NULL) < 0 || evsignal_add(interrupt, NULL) < 0)
        r = -ENOMEM;
    if (r == 0) {
        log_info("ready version=%s", PACKAGE_VERSION);
        notify_send("READY=1");
        r = event_base_dispatch(app->base) < 0 ? -EIO : 0;
    }
    if (watchdog)
        event_free(watchdog);
    if (term)
        event_free(term);
    if (interrupt)
        event_free(interrupt);
    return r;
}

int main(int argc, char **argv)
{
    struct options options = {
        .core_path = ATELIER_RUN_DIR "/core.sock",
        .state_dir = ATELIER_STATE_DIR,
        .registry = {.id_min = ID_ALLOC_MIN, .id_max = ID_ALLOC_MAX},
    };
    struct app app = {0};
    int r;

    log_init("sessiond-api");
    notify_init();
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return EX_USAGE;
    if (getuid() == 0 || geteuid() == 0) {
        log_error("refusing to run as root: start it as the user that owns the registry");
        return EX_NOPERM;
    }
    if (link_base_default(&options) < 0) {
        log_error("the host name makes no base for links: give --link-base");
        return EX_USAGE;
    }
    r = harden();
    if (r < 0) {
        log_error("could not start: %s", strerrordesc_np(-r));
        return EX_OSERR;
    }
    r = app_open(&app, &options);
    if (r == 0)
        r = app_serve(&app);
    app_close(&app);
    return r == 0 ? EXIT_SUCCESS : EX_UNAVAILABLE;
}
