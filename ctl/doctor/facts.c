/* SPDX-License-Identifier: ISC */
/* facts.c - answers that are kept for the length of a report. */
#include "ctl/doctor/facts.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "common/str.h"
#include "ctl/client.h"
#include "ctl/say.h"
#include "ctl/setup/accounts.h"
#include "ctl/setup/host.h"
#include "ctl/setup/program.h"

#include "common/banned.h"

#define HEALTH_S       5
#define CONNECT_S      3
#define PAUSE_NS       50000000
#define HEALTH_MAX     65536u
#define STATUS_SIZE    4096
#define CMDLINE_SIZE   8192
#define PROC_PATH_SIZE 288 /* with a name of 255 bytes */
#define SSHD_CONFIG    "/etc/atelier/sshd_config"
#define GETENT_S       30
#define REMOVED_SUFFIX " (deleted)" /* readlink(2) of /proc/PID/exe: proc(5) */

struct doctor_facts {
    bool is_health_asked;
    json_t *health;
    char why[320];
    bool has_daemon[FACTS_DAEMON_COUNT];
    struct facts_process daemons[FACTS_DAEMON_COUNT];
    bool is_participant_asked;
    char participant[32];
};

static const struct {
    const char *name, *program;
} daemons[] = {
#define DAEMON_ROW(id, name, program) {name, program},
    FACTS_DAEMONS(DAEMON_ROW)
#undef DAEMON_ROW
};

struct doctor_facts *facts_new(void)
{
    struct doctor_facts *facts = calloc(1, sizeof(*facts));

    if (!facts)
        say_no_memory();
    return facts;
}

void facts_free(struct doctor_facts *facts)
{
    json_decref(facts->health);
    free(facts);
}

/* --- daemons ---------------------------------------------------------------------------------- */

const char *facts_daemon_name(enum facts_daemon which)
{
    return daemons[which].name;
}

/* The program of a process. Return: 0 (@ret_path is "" if there is none) or a negative errno. */
static int exe_read(const char *pid, char ret_path[static PATH_MAX], bool *ret_removed)
{
    char link[PROC_PATH_SIZE];
    size_t suffix = strlen(REMOVED_SUFFIX);
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/%s/exe", pid);
    n = readlink(link, ret_path, PATH_MAX - 1);
    ret_path[n < 0 ? 0 : n] = '\0';
    *ret_removed =
        n > (ssize_t)suffix && strcmp(ret_path + (size_t)n - suffix, REMOVED_SUFFIX) == 0;
    if (*ret_removed)
        ret_path[(size_t)n - suffix] = '\0';
    /* Kernel threads have none; others may have ended. */
    return n < 0 && errno != ENOENT && errno != ESRCH ? -errno : 0;
}

/* Its parent, and whether it is in our PID namespace and no deeper one. */
static bool parent_read(const char *pid, char ret_parent[static 16])
{
    char path[PROC_PATH_SIZE], status[STATUS_SIZE];
    const char *ns, *parent;
    unsigned here;
    int end = 0;

    (void)snprintf(path, sizeof(path), "/proc/%s/status", pid);
    if (text_file_read(path, status, sizeof(status)) < 0)
        return false;
    ns = strstr(status, "\nNSpid:");
    parent = strstr(status, "\nPPid:");
    if (!parent || sscanf(parent, "\nPPid: %15[0-9]", ret_parent) != 1)
        return false;
    return !ns || (sscanf(ns, "\nNSpid: %u%n", &here, &end) == 1 && ns[end] == '\n');
}

/* sshd is everybody's: ours has our configuration, and is the one that listens. */
static bool is_our_sshd(const char *pid)
{
    char path[PROC_PATH_SIZE], words[CMDLINE_SIZE];

    (void)snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
    return text_file_read(path, words, sizeof(words)) == 0 && strstr(words, SSHD_CONFIG) &&
           strstr(words, "[listener]");
}

static int daemon_find(enum facts_daemon which, struct facts_process *ret)
{
    DIR *dir = opendir("/proc");
    struct dirent *d;
    int r = 0;

    if (!dir)
        return -errno;
    *ret = (struct facts_process){0};
    while (r == 0 && ret->pid == 0 && (d = readdir(dir))) {
        char exe[PATH_MAX], parents[PATH_MAX], parent[16];
        bool is_removed, unused;
        uint32_t pid;

        if (str_to_u32(d->d_name, INT32_MAX, &pid) < 0)
            continue;
        r = exe_read(d->d_name, exe, &is_removed);
        if (r < 0 || strcmp(exe, daemons[which].program) != 0 || !parent_read(d->d_name, parent))
            continue;
        if (which == FACTS_SSHD && !is_our_sshd(d->d_name))
            continue;
        if (which == FACTS_SESSIOND &&
            (exe_read(parent, parents, &unused) < 0 || strcmp(parents, exe) == 0))
            continue;
        *ret = (struct facts_process){.pid = (pid_t)pid, .is_removed = is_removed};
    }
    (void)closedir(dir);
    return r;
}

int facts_daemon(struct doctor *d, enum facts_daemon which, struct facts_process *ret)
{
    struct doctor_facts *facts = d->facts;
    int r;

    if (!facts->has_daemon[which]) {
        r = daemon_find(which, &facts->daemons[which]);
        if (r < 0)
            return r;
        facts->has_daemon[which] = true;
    }
    *ret = facts->daemons[which];
    return 0;
}

int facts_argument(pid_t pid, const char *option, const char *short_,
                   void (*one)(void *arg, const char *value), void *arg)
{
    char path[64], words[CMDLINE_SIZE] = "";
    size_t length = strlen(option);
    int count = 0, r;

    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    r = text_file_read(path, words, sizeof(words) - 1);
    if (r < 0)
        return r;
    /* Words end with a NUL each, and behind the last there are only NULs: words[] is all zero. */
    for (const char *word = words; *word; word += strlen(word) + 1) {
        const char *value = NULL;

        if (strncmp(word, option, length) == 0 && word[length] == '=') {
            value = word + length + 1;
        } else if (strcmp(word, option) == 0 || (short_ && strcmp(word, short_) == 0)) {
            value = word + strlen(word) + 1;
            word = value;
        } else if (short_ && strncmp(word, short_, strlen(short_)) == 0) {
            value = word + strlen(short_);
        }
        if (value && *value) {
            one(arg, value);
            count++;
        }
    }
    return count;
}

/* --- the api ---------------------------------------------------------------------------------- */

struct body {
    char *text;
    size_t size;
};

static int body_take(void *arg, long http, const char *data, size_t size)
{
    struct body *b = arg;
    char *text;

    (void)http;
    if (size > HEALTH_MAX - b->size)
        return -1;
    text = realloc(b->text, b->size + size + 1);
    if (!text)
        say_no_memory();
    memcpy(text + b->size, data, size);
    b->text = text;
    b->size += size;
    return 0;
}

static void health_ask_once(struct doctor *d)
{
    struct doctor_facts *facts = d->facts;
    struct body body = {0};
    const struct client_request request = {.method = "GET",
                                           .path = "/v1/healthz",
                                           .timeout_s = HEALTH_S,
                                           .piece = body_take,
                                           .arg = &body};
    struct client_result result = {0};

    client_perform(d->opt, &request, &result);
    if (result.code == CTL_OK)
        facts->health = json_loadb(body.text ? body.text : "", body.size, 0, NULL);
    free(body.text);
    if (facts->health && !json_is_string(json_object_get(facts->health, "canary"))) {
        json_decref(facts->health);
        facts->health = NULL;
    }
    if (!facts->health)
        (void)snprintf(facts->why, sizeof(facts->why), "%s",
                       result.why[0] ? result.why : "sessiond-api answers something else");
}

/* sessiond-api connects to sessiond by and by: at a start they need a moment. */
static void health_ask(struct doctor *d)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct doctor_facts *facts = d->facts;
    struct facts_process api, sessiond;
    time_t until = time(NULL) + CONNECT_S;

    facts->is_health_asked = true;
    /* Its socket is systemd's, and would take a question that nobody answers. */
    if (facts_daemon(d, FACTS_API, &api) == 0 && api.pid == 0) {
        (void)snprintf(facts->why, sizeof(facts->why), "sessiond-api does not run");
        return;
    }
    for (;;) {
        health_ask_once(d);
        if (!facts->health || json_is_true(json_object_get(facts->health, "sessiond")) ||
            facts_daemon(d, FACTS_SESSIOND, &sessiond) < 0 || sessiond.pid == 0 ||
            time(NULL) >= until)
            return;
        json_decref(facts->health);
        facts->health = NULL;
        (void)nanosleep(&pause, NULL);
    }
}

const json_t *facts_health(struct doctor *d, const char **ret_why)
{
    if (!d->facts->is_health_asked)
        health_ask(d);
    *ret_why = d->facts->why;
    return d->facts->health;
}

const json_t *facts_sessiond(struct doctor *d, struct doctor_line *l)
{
    const char *why;
    const json_t *health = facts_health(d, &why);

    if (!health)
        doctor_say(l, DOCTOR_UNKNOWN, "sessiond-api does not say: %s", why);
    else if (!json_is_true(json_object_get(health, "sessiond")))
        doctor_say(l, DOCTOR_UNKNOWN, "sessiond does not say");
    else
        return health;
    return NULL;
}

const char *facts_health_text(const json_t *health, const char *key)
{
    const char *text = json_string_value(json_object_get(health, key));

    return text ? text : "";
}

/* --- the host --------------------------------------------------------------------------------- */

int facts_number(const char *path, uint32_t *ret)
{
    char text[64];
    int r = text_file_read(path, text, sizeof(text));

    if (r < 0)
        return r;
    text[strcspn(text, "\n")] = '\0';
    return str_to_u32(text, UINT32_MAX, ret);
}

bool facts_has_systemd(void)
{
    return access("/run/systemd/system", F_OK) == 0;
}

bool facts_has_ipv6(void)
{
    return access("/proc/net/if_inet6", F_OK) == 0;
}

int facts_landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    return abi < 0 ? 0 : (int)abi;
}

int facts_participant(struct doctor *d, char ret_name[static 32])
{
    struct doctor_facts *facts = d->facts;

    if (!facts->is_participant_asked) {
        cleanup_text struct text list = {0};
        struct complaint unused;
        struct line line = {0};
        const char *name;
        size_t size;

        facts->is_participant_asked = true;
        if (program_run(ARGV("/usr/bin/getent", "-s", "atelier", "passwd"), GETENT_S, &list) == 0 &&
            accounts_in_range(&list, ACCOUNTS_PASSWD, ID_ALLOC_MIN, ID_ALLOC_MAX, &line, &unused) &&
            account_field(&line, 0, &name, &size) && size < sizeof(facts->participant))
            memcpy(facts->participant, name, size);
    }
    if (!facts->participant[0])
        return -ENOENT;
    memcpy(ret_name, facts->participant, sizeof(facts->participant));
    return 0;
}
