/* SPDX-License-Identifier: ISC */
/*
 * attack_receipt.c - is what was enforced what the policy says?
 *
 * Three accounts of the same: the plan, as sessiond told it; the receipt, which sessiond read of
 * the run; and what the run and the session see of themselves in /proc.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ctl/doctor/checks.h"
#include "ctl/doctor/judge.h"

#include "common/banned.h"

#define MIB     (1ull << 20)
#define WALL_MS 4000u

static const char *const namespaces[WIRE_NS__COUNT] = {"mnt", "pid",    "ipc", "uts",
                                                       "net", "cgroup", "user"};
static const char *const modes[] = {"none", "v1", "v2-lite", "v2"};

/* What a process has said of itself; "" if nothing. */
static const char *own(const struct said *said, const char *key)
{
    const struct said_line *line = said_find(said, "self", key);

    return line ? line->detail : "";
}

static uint64_t host_namespace(const char *name)
{
    struct stat st;
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Four times the same id. */
static bool is_all(const char *text, uint32_t id)
{
    char wanted[64];

    (void)snprintf(wanted, sizeof(wanted), "%u %u %u %u", id, id, id, id);
    return strcmp(text, wanted) == 0;
}

/* A list of one; the kernel writes a blank behind it. */
static bool is_group(const char *text, uint32_t gid)
{
    char wanted[16];

    (void)snprintf(wanted, sizeof(wanted), "%u", gid);
    return strncmp(text, wanted, strlen(wanted)) == 0 &&
           text[strlen(wanted) + strspn(text + strlen(wanted), " ")] == '\0';
}

/* The namespaces that a process is in, and the host's. @shared: bits of those that are one. */
static void namespaces_judge(struct doctor_line *l, const char *who, const struct said *said,
                             unsigned shared)
{
    for (unsigned i = 0; i < WIRE_NS__COUNT; i++) {
        uint64_t inside = strtoull(own(said, namespaces[i]), NULL, 10);
        bool is_shared = (shared & (1u << i)) != 0;

        if (inside == 0 || (inside == host_namespace(namespaces[i])) != is_shared)
            doctor_say(l, DOCTOR_FAIL, "%s: the %s namespace is %sthe host's", who, namespaces[i],
                       is_shared ? "not " : "");
    }
}

static void self_judge(struct doctor_line *l, const char *who, const struct said *said,
                       unsigned shared)
{
    static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    uint32_t uid = probe_uid(0);

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        if (strcmp(own(said, sets[i]), "0000000000000000") != 0)
            doctor_say(l, DOCTOR_FAIL, "%s: %s is %s", who, sets[i], own(said, sets[i]));
    }
    if (!is_all(own(said, "Uid"), uid) || !is_all(own(said, "Gid"), uid))
        doctor_say(l, DOCTOR_FAIL, "%s: its ids are %s and %s", who, own(said, "Uid"),
                   own(said, "Gid"));
    if (!is_group(own(said, "Groups"), uid))
        doctor_say(l, DOCTOR_FAIL, "%s: its groups are %s", who, own(said, "Groups"));
    if (strcmp(own(said, "NoNewPrivs"), "1") != 0)
        doctor_say(l, DOCTOR_FAIL, "%s: no_new_privs is not set", who);
    if (strcmp(own(said, "Seccomp"), "2") != 0)
        doctor_say(l, DOCTOR_FAIL, "%s: it has no system call filter", who);
    namespaces_judge(l, who, said, shared);
}

static void limits_judge(struct doctor_line *l, const struct wire_receipt *r,
                         const struct probe_terms *t)
{
    const struct session_probe_plan *plan = &t->run;

    if (r->rlimit_nofile > plan->nofile || r->rlimit_fsize > plan->fsize_bytes)
        doctor_say(l, DOCTOR_FAIL, "rlimits are above the policy's");
    if (r->cgroup_mode != t->status.cgroup_mode)
        doctor_say(l, DOCTOR_FAIL, "control groups: %s where %s was said",
                   r->cgroup_mode < 4 ? modes[r->cgroup_mode] : "?",
                   t->status.cgroup_mode < 4 ? modes[t->status.cgroup_mode] : "?");
    if (r->cgroup_mode == WIRE_CGROUP_NONE) {
        doctor_say(l, DOCTOR_WARN,
                   "no control group holds memory, processes and processor time: see cgroup-mode");
        return;
    }
    if (r->cgroup_memory_max != plan->memory_max_bytes)
        doctor_say(l, DOCTOR_FAIL, "memory is limited at %llu bytes, not at %llu",
                   (unsigned long long)r->cgroup_memory_max,
                   (unsigned long long)plan->memory_max_bytes);
    if (r->cgroup_pids_max != plan->pids_max)
        doctor_say(l, DOCTOR_FAIL, "processes are limited at %llu, not at %llu",
                   (unsigned long long)r->cgroup_pids_max, (unsigned long long)plan->pids_max);
}

static void receipt_judge(struct doctor_line *l, const struct wire_receipt *r,
                          const struct said *said)
{
    const uint32_t wanted = (1u << WIRE_NS_MNT) | (1u << WIRE_NS_PID) | (1u << WIRE_NS_IPC) |
                            (1u << WIRE_NS_UTS) | (1u << WIRE_NS_NET) | (1u << WIRE_NS_CGROUP);

    if (r->uid[0] != probe_uid(0) || r->seccomp != 2 || r->no_new_privs != 1 ||
        (r->cap_inh | r->cap_prm | r->cap_eff | r->cap_bnd | r->cap_amb) != 0 ||
        r->group_count != 1 || r->groups[0] != probe_uid(0) || r->ns_own != wanted)
        doctor_say(l, DOCTOR_FAIL, "the receipt is not that of a confined run");
    /* Two that looked at one thing, from outside and from inside. */
    for (unsigned i = 0; i < WIRE_NS__COUNT; i++) {
        if (r->ns_inode[i] != strtoull(own(said, namespaces[i]), NULL, 10))
            doctor_say(l, DOCTOR_FAIL, "receipt and run differ in their %s namespace",
                       namespaces[i]);
    }
}

void check_receipt(struct doctor *d, struct doctor_line *l)
{
    static const char *const words[] = {"self", NULL};
    const struct probe_request req = {.door = PROBE_NONE, .wall_ms = WALL_MS, .words = words};
    cleanup_probe struct probe_result result = {0};
    const struct probe_terms *terms;
    struct said *said;
    const char *why;

    terms = probe_terms(d, &why);
    if (!terms || probe_run(d, &req, &result) < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "%s", terms ? result.why : why);
        return;
    }
    said = said_parse(result.output ? result.output : "");
    self_judge(l, "run", said, 1u << WIRE_NS_USER);
    receipt_judge(l, &result.receipt, said);
    limits_judge(l, &result.receipt, terms);
    free(said);
    if (!judge_is_ready(d, l, JUDGE_PUBLIC | JUDGE_SESSION))
        return;
    self_judge(l, "run, net public", attempts(d, PROBE_PUBLIC),
               1u << WIRE_NS_USER | 1u << WIRE_NS_NET);
    self_judge(l, "session", attempts(d, PROBE_SESSION), 1u << WIRE_NS_USER | 1u << WIRE_NS_NET);
    doctor_say(l, DOCTOR_PASS,
               "filter, no capability, no_new_privs, one group, own namespaces, %llu MiB, %llu "
               "processes (control groups: %s): as the policy says, in the receipt and from inside",
               (unsigned long long)(result.receipt.cgroup_memory_max / MIB),
               (unsigned long long)result.receipt.cgroup_pids_max,
               result.receipt.cgroup_mode < 4 ? modes[result.receipt.cgroup_mode] : "?");
}
