/* SPDX-License-Identifier: ISC */
/* attack_six.c - the six attacks that sandboxes for the code of others are measured by. */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "ctl/doctor/checks.h"
#include "ctl/doctor/judge.h"

#include "common/banned.h"

#define MIB          (1ull << 20)
#define LOOP_MS      1500u
#define NEIGHBOUR_MS 5000u
#define SLOW_US      2000000u /* for a neighbour, on however busy a machine */
#define WALL_MS      15000u
#define MEMORY_MIB   512u /* the attack; more where the policy gives more */
#define MEMORY_TRY   2048u
#define FORKS        200u
#define FORKS_TRY    2000u
#define HOLD_S       "3" /* without control groups: looks of sessiond are a second apart at most */
#define FILE_MIB     50u
#define FILE_TRY     512u

/* The line of one attack. NULL: UNKNOWN was said. */
static const struct said_line *one(struct doctor_line *l, const struct said *said, const char *name,
                                   const char *target)
{
    const struct said_line *line = said_find(said, name, target);

    if (!line)
        doctor_say(l, DOCTOR_UNKNOWN, "%s said nothing", name);
    return line;
}

static bool begun(struct doctor *d, struct doctor_line *l, const struct probe_terms **ret_terms)
{
    const char *why;

    *ret_terms = probe_terms(d, &why);
    if (*ret_terms)
        return true;
    doctor_say(l, DOCTOR_UNKNOWN, "%s", why);
    return false;
}

/* Control groups with limits. How bad it is to have none, the check cgroup-mode says. */
static bool terms_has_groups(const struct probe_terms *terms)
{
    return terms->status.cgroup_mode != WIRE_CGROUP_NONE;
}

/* --- endless loop ----------------------------------------------------------------------------- */

static void loop_judge(struct doctor_line *l, const struct probe_result *loop,
                       const struct probe_result *other)
{
    double took_s = (double)loop->wall_us / 1e6, other_ms = (double)other->wall_us / 1e3;

    if (loop->end != WIRE_END_TIMEOUT && loop->end != WIRE_END_CPU)
        doctor_say(l, DOCTOR_FAIL, "it ended otherwise than by a limit, after %.1f s", took_s);
    else if (other->wall_us > SLOW_US)
        doctor_say(l, DOCTOR_FAIL, "another participant's run took %.0f ms meanwhile", other_ms);
    else
        doctor_say(
            l, DOCTOR_PASS,
            "ended at its %s, after %.1f s; another participant's run took %.0f ms meanwhile",
            loop->end == WIRE_END_CPU ? "processor time" : "wall time", took_s, other_ms);
}

void check_endless_loop(struct doctor *d, struct doctor_line *l)
{
    static const char *const loop[] = {"loop", NULL}, *const nap[] = {"nap", "1", NULL};
    const struct probe_request attack = {
        .door = PROBE_NONE, .who = 1, .wall_ms = LOOP_MS, .words = loop};
    const struct probe_request neighbour = {
        .door = PROBE_NONE, .who = 2, .wall_ms = NEIGHBOUR_MS, .words = nap};
    cleanup_probe struct probe_result ended = {0}, other = {0};
    struct probe_job *job = probe_begin(d, &attack, &ended);
    int r;

    if (!job) {
        doctor_say(l, DOCTOR_UNKNOWN, "%s", ended.why);
        return;
    }
    r = probe_run(d, &neighbour, &other);
    if (probe_finish(d, job, &ended) < 0)
        doctor_say(l, DOCTOR_UNKNOWN, "%s", ended.why);
    else if (r < 0)
        doctor_say(l, DOCTOR_FAIL, "another participant's run did not start meanwhile: %s",
                   other.why);
    else
        loop_judge(l, &ended, &other);
}

/* --- memory -------------------------------------------------------------------------------------
 */

static void memory_judge(struct doctor_line *l, const struct probe_result *r, uint64_t limit,
                         unsigned long tried, bool has_groups)
{
    struct said *said = said_parse(r->output ? r->output : "");
    const struct said_line *all = said_find(said, "memory", "all"), *line = NULL, *last = NULL;
    uint64_t peak = r->usage.memory_peak_bytes;
    char peak_text[64] = "";

    while ((line = said_next(said, "memory", line)))
        last = line;
    if (peak != WIRE_NOT_KNOWN && peak != 0)
        (void)snprintf(peak_text, sizeof(peak_text), "; %llu of %llu MiB at most",
                       (unsigned long long)(peak / MIB), (unsigned long long)(limit / MIB));
    if (all && all->verdict == SAID_REACHED)
        doctor_say(l, DOCTOR_FAIL, "it had %lu MiB", tried);
    else if (limit != 0 && peak != WIRE_NOT_KNOWN && peak > limit)
        doctor_say(l, DOCTOR_FAIL, "it had more than its limit%s", peak_text);
    else if (all && all->verdict == SAID_REFUSED)
        doctor_say(l, DOCTOR_PASS, "%lu MiB: refused %s (%s)%s", tried, all->detail, all->error,
                   peak_text);
    else if (r->end == WIRE_END_MEMORY && !has_groups)
        doctor_say(l, DOCTOR_PASS, "%lu MiB: ended by a look of sessiond, after %s MiB", tried,
                   last ? last->target : "0");
    else if (r->usage.oom_kills != WIRE_NOT_KNOWN && r->usage.oom_kills > 0)
        doctor_say(l, DOCTOR_PASS, "%lu MiB: ended for want of memory, after %s MiB%s", tried,
                   last ? last->target : "0", peak_text);
    else
        doctor_say(l, DOCTOR_UNKNOWN, "it ended otherwise than by its limit (end %u, %u)", r->end,
                   r->value);
    free(said);
}

void check_memory_bomb(struct doctor *d, struct doctor_line *l)
{
    cleanup_probe struct probe_result result = {0};
    const struct probe_terms *terms;
    unsigned long limit_mib, tried;
    char count[24];
    const char *words[] = {"memory", count, NULL, NULL};
    struct probe_request req = {.door = PROBE_NONE, .who = 1, .wall_ms = WALL_MS, .words = words};

    if (!begun(d, l, &terms))
        return;
    if (!terms_has_groups(terms))
        words[2] = HOLD_S;
    limit_mib = (unsigned long)(terms->run.memory_max_bytes / MIB);
    tried = limit_mib + 64 > MEMORY_MIB ? limit_mib + 64 : MEMORY_MIB;
    if (tried > MEMORY_TRY) {
        doctor_say(l, DOCTOR_WARN, "the policy gives a run %lu MiB: not tried", limit_mib);
        return;
    }
    (void)snprintf(count, sizeof(count), "%lu", tried);
    if (probe_run(d, &req, &result) < 0)
        doctor_say(l, DOCTOR_UNKNOWN, "%s", result.why);
    else
        memory_judge(l, &result, result.receipt.cgroup_memory_max, tried, terms_has_groups(terms));
}

/* --- processes ----------------------------------------------------------------------------------
 */

void check_fork_bomb(struct doctor *d, struct doctor_line *l)
{
    cleanup_probe struct probe_result result = {0};
    const struct probe_terms *terms;
    const struct said_line *line;
    unsigned long tried = FORKS;
    struct said *said;
    char count[24];
    const char *words[] = {"forks", count, NULL, NULL};
    struct probe_request req = {.door = PROBE_NONE, .who = 1, .wall_ms = WALL_MS, .words = words};

    if (!begun(d, l, &terms))
        return;
    if (terms->run.pids_max + 16 > tried)
        tried = (unsigned long)terms->run.pids_max + 16;
    if (tried > FORKS_TRY) {
        doctor_say(l, DOCTOR_WARN, "the policy gives a run %llu processes: not tried",
                   (unsigned long long)terms->run.pids_max);
        return;
    }
    if (!terms_has_groups(terms))
        words[2] = HOLD_S;
    (void)snprintf(count, sizeof(count), "%lu", tried);
    if (probe_run(d, &req, &result) < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "%s", result.why);
        return;
    }
    if (result.end == WIRE_END_PIDS) {
        doctor_say(l, DOCTOR_PASS,
                   "%lu processes: ended by a look of sessiond; the policy gives "
                   "%llu",
                   tried, (unsigned long long)terms->run.pids_max);
        return;
    }
    said = said_parse(result.output ? result.output : "");
    line = one(l, said, "forks", "all");
    if (line && line->verdict == SAID_REACHED)
        doctor_say(l, DOCTOR_FAIL, "it had %lu processes", tried);
    else if (line && strcmp(line->error, "EAGAIN") != 0)
        doctor_say(l, DOCTOR_UNKNOWN, "refused by something else: %s", line->error);
    else if (line)
        doctor_say(l, DOCTOR_PASS, "%lu processes: refused %s; the policy gives %llu", tried,
                   line->detail, (unsigned long long)terms->run.pids_max);
    free(said);
}

/* --- files
 * ------------------------------------------------------------------------------------------ */

/* Bytes that are free where the homes are, to see that it costs the host none. */
static uint64_t free_bytes(void)
{
    struct statvfs fs;

    return statvfs("/", &fs) == 0 ? (uint64_t)fs.f_bfree * fs.f_frsize : 0;
}

/* Return: how many MiB to try, or 0: too many. */
static unsigned long file_size(uint64_t place, uint64_t fsize)
{
    uint64_t limit = place < fsize ? place : fsize, tried = limit / MIB + 8;

    if (tried < FILE_MIB)
        tried = FILE_MIB;
    return tried > FILE_TRY ? 0 : (unsigned long)tried;
}

/* The place that the policy makes smallest shows that it is the policy that decides. */
void check_file_bomb(struct doctor *d, struct doctor_line *l)
{
    cleanup_probe struct probe_result result = {0};
    const struct probe_terms *terms;
    const struct said_line *line;
    uint64_t before, after;
    unsigned long tried, limit;
    struct said *said;
    char count[24];
    const char *path = "/tmp/attack-file";
    const char *words[] = {"fill", path, count, NULL};
    struct probe_request req = {.door = PROBE_NONE, .who = 1, .wall_ms = WALL_MS, .words = words};

    if (!begun(d, l, &terms))
        return;
    tried = file_size(terms->run.tmp_bytes, terms->run.fsize_bytes);
    limit =
        (unsigned long)((terms->run.tmp_bytes < terms->run.fsize_bytes ? terms->run.tmp_bytes
                                                                       : terms->run.fsize_bytes) /
                        MIB);
    if (tried == 0) {
        doctor_say(l, DOCTOR_WARN, "the policy gives a run a file of %lu MiB in /tmp: not tried",
                   limit);
        return;
    }
    (void)snprintf(count, sizeof(count), "%lu", tried);
    before = free_bytes();
    if (probe_run(d, &req, &result) < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "%s", result.why);
        return;
    }
    after = free_bytes();
    said = said_parse(result.output ? result.output : "");
    line = said_find(said, "fill", path);
    if (!line && result.usage.oom_kills != WIRE_NOT_KNOWN && result.usage.oom_kills > 0)
        doctor_say(l, DOCTOR_PASS, "%lu MiB in /tmp: ended for want of memory", tried);
    else if (!line)
        doctor_say(l, DOCTOR_UNKNOWN, "it said nothing (end %u, %u)", result.end, result.value);
    else if (line->verdict == SAID_REACHED)
        doctor_say(l, DOCTOR_FAIL, "it wrote %lu MiB into /tmp", tried);
    else
        doctor_say(l, DOCTOR_PASS,
                   "%lu MiB in /tmp: %s %s; the policy gives %lu MiB%s, in memory of its own%s",
                   tried, line->error, line->detail, limit,
                   limit >= FILE_MIB ? ", so 50 MB are allowed" : "",
                   before > after + 64 * MIB ? "" : ", and the host's disk has lost none");
    free(said);
}

/* --- credentials, service
 * ---------------------------------------------------------------------------- */

void check_fake_credentials(struct doctor *d, struct doctor_line *l)
{
    const unsigned doors = JUDGE_NONE | JUDGE_PUBLIC | JUDGE_SESSION;
    size_t secrets = 0, seen = 0;
    const struct bait *b;
    const char *why;

    if (!judge_is_ready(d, l, doors | 1u << PROBE_PLAIN))
        return;
    b = attempts_bait(d, &why);
    if (!b || b->file_count == 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "no file could be planted");
        return;
    }
    for (uint32_t i = 0; i < b->file_count; i++) {
        (void)judge_refused(d, l, doors, "read", b->files[i]);
        seen += judge_control(d, PROBE_PLAIN, "read", b->files[i]);
    }
    for (; attempts_secrets[secrets]; secrets++)
        (void)judge_refused(d, l, doors, "read", attempts_secrets[secrets]);
    if (seen == 0)
        doctor_say(l, DOCTOR_UNKNOWN, "unconfined the same uid cannot read them either");
    doctor_say(l, DOCTOR_PASS,
               "%u planted files and %zu of the host's: none read by runs and sessions; unconfined "
               "the same uid read %zu",
               b->file_count, secrets, seen);
}

void check_fake_service(struct doctor *d, struct doctor_line *l)
{
    const unsigned doors = JUDGE_PUBLIC | JUDGE_SESSION;
    const struct bait *b;
    char target[TARGET_SIZE];
    const char *why;
    int r;

    if (!judge_is_ready(d, l, JUDGE_CONFINED | 1u << PROBE_PLAIN | 1u << PROBE_ROOT))
        return;
    b = attempts_bait(d, &why);
    if (!b || b->port4 == 0 || !b->path_socket[0]) {
        doctor_say(l, DOCTOR_UNKNOWN, "no service could be opened");
        return;
    }
    (void)snprintf(target, sizeof(target), "127.0.0.1:%u", b->port4);
    r = judge_path(d, l, doors, "tcp", target, true);
    if (judge_refused(d, l, JUDGE_NONE, "tcp", target) != 1 ||
        judge_refused(d, l, JUDGE_CONFINED, "connect", b->path_socket) != 3 || r == 0)
        return;
    if (!judge_control(d, PROBE_PLAIN, "connect", b->path_socket))
        doctor_say(l, DOCTOR_UNKNOWN, "unconfined the same uid does not reach %s either",
                   b->path_socket);
    doctor_say(l, DOCTOR_PASS,
               "%s and %s: refused to runs and sessions; root and the same uid unconfined reached "
               "them",
               target, b->path_socket);
}
