/* SPDX-License-Identifier: ISC */
/* host_ids.c - nobody else has, or could be given, an id of participants. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common/ids.h"
#include "common/str.h"
#include "ctl/doctor/checks.h"
#include "ctl/setup/file.h"
#include "ctl/setup/host.h"
#include "ctl/setup/ids.h"
#include "ctl/setup/limits.h"

#include "common/banned.h"

#define STATUS_SIZE    4096
#define NAMED_MAX      4   /* processes that are named; the others are counted */
#define PROC_PATH_SIZE 288 /* with a name of 255 bytes */

/* --- settings --------------------------------------------------------------------------------- */

static bool value_read(const struct text *file, enum keys_format format, const char *key,
                       uint32_t *ret)
{
    char number[16];
    const char *start;
    size_t size, line;

    if (key_find(file, format, key, &start, &size, &line) < 0 || size >= sizeof(number))
        return false;
    memcpy(number, start, size);
    number[size] = '\0';
    return str_to_u32(number, UINT32_MAX, ret) == 0;
}

static void limits_look(const struct id_limits *limits, struct doctor_line *l)
{
    cleanup_file struct file f = {0};
    struct complaint why = {0};
    int r = file_read(limits->path, &f);

    if (r < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "%s: %s", limits->path, strerror(-r));
        return;
    }
    if (!f.text.bytes) {
        /* Without the package adduser there is nothing to keep away. */
        if (limits != &id_limits[0])
            return;
        doctor_say(l, DOCTOR_FAIL, "%s is missing", limits->path);
        return;
    }
    for (size_t i = 0; i < limits->rule_count; i++) {
        const struct key_rule *rule = &limits->rules[i];
        uint32_t value;

        if (!value_read(&f.text, limits->format, rule->key, &value))
            doctor_say(l, DOCTOR_FAIL, "%s: no %s, which is then above %u", limits->path, rule->key,
                       rule->max);
        else if (value < rule->min || value > rule->max)
            doctor_say(l, DOCTOR_FAIL, "%s: %s is %u, above %u", limits->path, rule->key, value,
                       rule->max);
        else
            doctor_say(l, DOCTOR_PASS, "%s %u", rule->key, value);
    }
    if (keys_check(&f.text, limits->format, limits->limits, limits->limit_count, &why) < 0)
        doctor_say(l, DOCTOR_FAIL, "%s:%zu: %s", limits->path, why.line, why.what);
}

void check_id_ranges(struct doctor *d, struct doctor_line *l)
{
    (void)d;
    for (size_t i = 0; i < ID_LIMITS_COUNT; i++)
        limits_look(&id_limits[i], l);
}

/* --- who has one ------------------------------------------------------------------------------ */

static void on_found(void *arg, const char *text)
{
    doctor_say(arg, DOCTOR_FAIL, "%s", text);
}

static void on_unseen(void *arg, const char *text)
{
    doctor_say(arg, DOCTOR_UNKNOWN, "%s", text);
}

void check_accounts(struct doctor *d, struct doctor_line *l)
{
    const struct ids_sink sink = {on_found, on_unseen, l};

    (void)d;
    ids_files_look(&sink);
    ids_sources_look(&sink);
    ids_names_look(&sink);
    doctor_say(l, DOCTOR_PASS, "nobody of the host's own has an id from %u to %u", ID_NET_MIN,
               ID_NET_MAX);
}

void check_subids(struct doctor *d, struct doctor_line *l)
{
    const struct ids_sink sink = {on_found, on_unseen, l};

    (void)d;
    ids_sub_look(&sink);
    doctor_say(l, DOCTOR_PASS, "no range of sub-ids from %u to %u", ID_NET_MIN, ID_NET_MAX);
}

/* --- who runs with one ------------------------------------------------------------------------ */

static bool uid_read(const char *pid, uid_t *ret_uid, char ret_name[static 64])
{
    char path[PROC_PATH_SIZE], status[STATUS_SIZE];
    const char *line;
    unsigned uids[4];

    (void)snprintf(path, sizeof(path), "/proc/%s/status", pid);
    if (text_file_read(path, status, sizeof(status)) < 0)
        return false;
    line = strstr(status, "\nUid:");
    if (!line || sscanf(line, "\nUid: %u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) != 4)
        return false;
    (void)sscanf(status, "Name: %63[^\n]", ret_name);
    for (size_t i = 0; i < 4; i++) {
        if (uids[i] >= ID_NET_MIN && uids[i] <= ID_NET_MAX) {
            *ret_uid = uids[i];
            return true;
        }
    }
    return false;
}

/*
 * What a run or session is has a mount namespace of its own; what has the host's was started by
 * something else (sudo -u, a unit, cron). Return: 0 (it is gone, too), 1, or a negative errno.
 */
static int is_outside(const char *pid, const char *host_ns)
{
    char path[PROC_PATH_SIZE], ns[64];
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%s/ns/mnt", pid);
    n = readlink(path, ns, sizeof(ns) - 1);
    if (n < 0)
        return errno == ENOENT || errno == ESRCH ? 0 : -errno;
    ns[n] = '\0';
    return strcmp(ns, host_ns) == 0;
}

void check_processes(struct doctor *d, struct doctor_line *l)
{
    char host_ns[64];
    ssize_t n = readlink("/proc/1/ns/mnt", host_ns, sizeof(host_ns) - 1);
    DIR *dir = n < 0 ? NULL : opendir("/proc");
    struct dirent *entry;
    size_t inside = 0, outside = 0;

    (void)d;
    if (!dir) {
        doctor_say(l, DOCTOR_UNKNOWN, "/proc: %s", strerror(errno));
        return;
    }
    host_ns[n] = '\0';
    while ((entry = readdir(dir))) {
        char name[64] = "?";
        uid_t uid;
        int r;

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
            !uid_read(entry->d_name, &uid, name))
            continue;
        r = is_outside(entry->d_name, host_ns);
        if (r < 0)
            doctor_say(l, DOCTOR_UNKNOWN, "process %s: %s", entry->d_name, strerror(-r));
        inside += r == 0;
        outside += r > 0;
        if (r > 0 && outside <= NAMED_MAX)
            doctor_say(l, DOCTOR_FAIL, "%s (%s) runs as uid %u outside of every session",
                       entry->d_name, name, uid);
    }
    (void)closedir(dir);
    if (outside > NAMED_MAX)
        doctor_say(l, DOCTOR_FAIL, "and %zu more", outside - NAMED_MAX);
    doctor_say(l, DOCTOR_PASS, "processes of participants: %zu, all in runs and sessions", inside);
}
