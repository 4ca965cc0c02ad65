/* SPDX-License-Identifier: ISC */
/* host_ids.c - nobody else has, or could be given, an id of participants. */
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
#include "ctl/setup/processes.h"

#include "common/banned.h"

#define NAMED_MAX 4 /* processes that are named; the others are counted */

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

struct outside {
    struct doctor_line *line;
    size_t inside, outside;
};

/* What has the host's mounts was started by something else: sudo -u, a unit, cron. */
static void on_process(void *arg, const struct process *p)
{
    struct outside *o = arg;
    int r = process_is_outside(p->pid);

    if (r < 0)
        doctor_say(o->line, DOCTOR_UNKNOWN, "process %d: %s", (int)p->pid, strerror(-r));
    o->inside += r == 0;
    o->outside += r > 0;
    if (r > 0 && o->outside <= NAMED_MAX)
        doctor_say(o->line, DOCTOR_FAIL, "%d (%s) runs as uid %u outside of every session",
                   (int)p->pid, p->name, p->uid);
}

void check_processes(struct doctor *d, struct doctor_line *l)
{
    struct outside o = {.line = l};
    int r = processes_each("/proc", ID_NET_MIN, ID_NET_MAX, on_process, &o);

    (void)d;
    if (r < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "/proc: %s", strerror(-r));
        return;
    }
    if (o.outside > NAMED_MAX)
        doctor_say(l, DOCTOR_FAIL, "and %zu more", o.outside - NAMED_MAX);
    doctor_say(l, DOCTOR_PASS, "processes of participants: %zu, all in runs and sessions",
               o.inside);
}
