/* SPDX-License-Identifier: ISC */
/* attack_isolation.c - what participants may do besides using a network. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/doctor/checks.h"
#include "ctl/doctor/judge.h"
#include "ctl/setup/processes.h"
#include "ctl/setup/text.h"

#include "common/banned.h"

#define WITH_PLAIN (JUDGE_CONFINED | 1u << PROBE_PLAIN)

/* --- system calls -------------------------------------------------------------------------------
 */

/* "EPERM mount, chroot; ENOSYS fsopen": what a run was refused with. */
static void errors_text(struct doctor *d, const char *name, const char *const *targets, char *ret,
                        size_t size)
{
    size_t used = 0;

    ret[0] = '\0';
    for (size_t i = 0; targets[i]; i++) {
        const char *error = judge_error(d, PROBE_NONE, name, targets[i]);
        bool is_told = false;

        for (size_t k = 0; k < i; k++)
            is_told = is_told || strcmp(error, judge_error(d, PROBE_NONE, name, targets[k])) == 0;
        if (is_told)
            continue;
        if (used < size)
            used += (size_t)snprintf(ret + used, size - used, "%s%s", used > 0 ? "; " : "", error);
        for (size_t k = i; targets[k] && used < size; k++) {
            if (strcmp(error, judge_error(d, PROBE_NONE, name, targets[k])) == 0)
                used += (size_t)snprintf(ret + used, size - used, "%s%s", k > i ? ", " : " ",
                                         targets[k]);
        }
    }
}

/* Which of these the same uid is let into, unconfined: "3 of 4". */
static void calls_judge(struct doctor *d, struct doctor_line *l, const char *name,
                        const char *const *targets)
{
    size_t count = 0, reached = 0;
    char errors[512];

    if (!judge_is_ready(d, l, WITH_PLAIN))
        return;
    for (; targets[count]; count++) {
        (void)judge_refused(d, l, JUDGE_CONFINED, name, targets[count]);
        reached += judge_control(d, PROBE_PLAIN, name, targets[count]);
    }
    errors_text(d, name, targets, errors, sizeof(errors));
    doctor_say(l, DOCTOR_PASS, "%s: by three doors; unconfined the same uid is let into %zu of %zu",
               errors, reached, count);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

void check_user_namespaces(struct doctor *d, struct doctor_line *l)
{
    calls_judge(d, l, "calls", LIST("userns", "userns-clone", "clone3", "mntns", "setns"));
}

void check_io_uring(struct doctor *d, struct doctor_line *l)
{
    calls_judge(d, l, "calls", LIST("io_uring"));
}

void check_keyrings(struct doctor *d, struct doctor_line *l)
{
    calls_judge(d, l, "calls", LIST("add_key", "keyctl", "request_key"));
}

void check_kernel_calls(struct doctor *d, struct doctor_line *l)
{
    calls_judge(d, l, "calls",
                LIST("mount", "umount", "fsopen", "open_tree", "chroot", "mknod", "bpf", "perf",
                     "userfaultfd", "personality", "handle", "syslog", "lease", "mlock",
                     "sethostname", "settimeofday", "reboot", "module", "setuid"));
}

void check_entries(struct doctor *d, struct doctor_line *l)
{
    calls_judge(d, l, "entries",
                LIST("x32", "i386", "high-family", "high-netlink", "high-personality", "unknown"));
}

/* --- programs with rights
 * --------------------------------------------------------------------------- */

/* What the control has shown. */
struct raised {
    size_t lines;    /* that there is no such program is one, too */
    size_t programs; /* that were tried */
    size_t raised;   /* of these: it had something that the uid has not */
    size_t roots;    /* of these: euid 0 */
};

/* "Uid: 59910 0 0 0"; or it is no longer to be seen, where /proc shows to each his own alone. */
static bool is_roots(const struct said_line *line)
{
    unsigned euid = 1;

    return line->verdict == SAID_REACHED && strncmp(line->detail, "Uid:", 4) == 0 &&
           (strcmp(line->detail, "Uid: out of sight") == 0 ||
            (sscanf(line->detail, "Uid: %*u %u", &euid) == 1 && euid == 0));
}

static struct raised raised_count(struct doctor *d, const char *name)
{
    const struct said_line *line = NULL;
    struct raised count = {0};

    while ((line = said_next(attempts(d, PROBE_PLAIN), name, line))) {
        count.lines++;
        count.programs += strcmp(line->error, "ENOENT") != 0;
        count.raised += line->verdict == SAID_REACHED;
        count.roots += is_roots(line);
    }
    return count;
}

/*
 * Refused, every one of them, in each door; and the same programs: those that gave something
 * unconfined. Return: false if something was said.
 */
static bool raised_judge(struct doctor *d, struct doctor_line *l, const char *name,
                         const struct raised *count)
{
    const struct said_line *line = NULL;

    (void)judge_all_refused(d, l, JUDGE_CONFINED, name, NULL);
    (void)judge_refused(d, l, JUDGE_CONFINED, "mounts", "set-uid");
    while ((line = said_next(attempts(d, PROBE_PLAIN), name, line))) {
        if (line->verdict == SAID_REACHED)
            (void)judge_refused(d, l, JUDGE_CONFINED, name, line->target);
    }
    if (count->lines == 0)
        doctor_say(l, DOCTOR_UNKNOWN, "unconfined the same uid did not come to try them");
    return !l->is_said;
}

/*
 * Programs that the host has anyway. One that is planted would be everybody's for as long as the
 * doctor runs, and for longer if it is killed.
 */
void check_set_uid(struct doctor *d, struct doctor_line *l)
{
    struct raised count;

    if (!judge_is_ready(d, l, WITH_PLAIN))
        return;
    count = raised_count(d, "setids");
    if (!raised_judge(d, l, "setids", &count))
        return;
    if (said_find(attempts(d, PROBE_PLAIN), "setids", "Uid"))
        doctor_say(l, DOCTOR_SKIP, "this host has no program that is set-uid and root's");
    else if (count.roots == 0)
        doctor_say(l, DOCTOR_UNKNOWN,
                   "unconfined the same uid gets no euid 0 from set-uid programs of root's either: "
                   "what is refused shows nothing");
    else
        doctor_say(l, DOCTOR_PASS,
                   "%zu programs that are set-uid or set-gid gain nothing by three doors, and all "
                   "mounts are nosuid; unconfined %zu gain, %zu of them euid 0",
                   count.programs, count.raised, count.roots);
}

void check_file_capabilities(struct doctor *d, struct doctor_line *l)
{
    struct raised count;

    if (!judge_is_ready(d, l, WITH_PLAIN))
        return;
    count = raised_count(d, "filecaps");
    if (!raised_judge(d, l, "filecaps", &count))
        return;
    if (count.programs == 0)
        doctor_say(
            l, DOCTOR_PASS,
            "this host has no program that is given capabilities, and all mounts are nosuid");
    else if (count.raised == 0)
        doctor_say(l, DOCTOR_UNKNOWN,
                   "unconfined the same uid gets no capability from %zu programs that are given "
                   "some either: what is refused shows nothing",
                   count.programs);
    else
        doctor_say(l, DOCTOR_PASS,
                   "%zu programs that are given capabilities gain nothing by three doors, and all "
                   "mounts are nosuid; unconfined %zu gain",
                   count.programs, count.raised);
}

void check_mounts(struct doctor *d, struct doctor_line *l)
{
    const struct said_line *run, *session;

    if (!judge_is_ready(d, l, JUDGE_CONFINED))
        return;
    if (judge_refused(d, l, JUDGE_CONFINED, "mounts", "devices") != 3 ||
        judge_refused(d, l, JUDGE_CONFINED, "mounts", "set-uid") != 3)
        return;
    run = said_find(attempts(d, PROBE_NONE), "mounts", "devices");
    session = said_find(attempts(d, PROBE_SESSION), "mounts", "devices");
    doctor_say(l, DOCTOR_PASS, "run: %s; session: %s; all nosuid", run->detail, session->detail);
}

/* --- without a network
 * ------------------------------------------------------------------------------- */

/* Abstract names on which somebody of the host listens: "3 (@a, @b, @c)". proc_net_unix(5). */
static void listeners_text(const struct bait *b, char *ret, size_t size)
{
    FILE *table = fopen("/proc/net/unix", "re");
    char line[512], names[256] = "";
    unsigned count = 0;

    while (table && fgets(line, sizeof(line), table)) {
        char *name = strchr(line, '@');
        unsigned flags = 0;

        /* Num: RefCount Protocol Flags Type St Inode Path; __SO_ACCEPTCON is 1 << 16. */
        if (!name || sscanf(line, "%*s %*s %*s %x", &flags) != 1 || (flags & 0x10000) == 0)
            continue;
        name[strcspn(name, "\n")] = '\0';
        if (strcmp(name + 1, b->abstract_name) == 0)
            continue;
        count++;
        if (strlen(names) + strlen(name) + 3 < sizeof(names))
            (void)snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
                           names[0] ? ", " : "", name);
    }
    if (table)
        (void)fclose(table);
    (void)snprintf(ret, size, "%u listen on such names of this host%s%s", count,
                   count > 0 ? ": " : "", names);
}

void check_abstract_sockets(struct doctor *d, struct doctor_line *l)
{
    const struct probe_terms *terms;
    const struct bait *b;
    char listeners[400];
    const char *why;

    if (!judge_is_ready(d, l, WITH_PLAIN))
        return;
    terms = probe_terms(d, &why);
    b = attempts_bait(d, &why);
    if (!b || !b->abstract_name[0] ||
        !judge_control(d, PROBE_PLAIN, "abstract", b->abstract_name)) {
        doctor_say(l, DOCTOR_UNKNOWN, "unconfined the same uid does not reach one either");
        return;
    }
    listeners_text(b, listeners, sizeof(listeners));
    if (judge_refused(d, l, JUDGE_NONE | JUDGE_PUBLIC, "abstract", b->abstract_name) != 2)
        return;
    if (judge_control(d, PROBE_SESSION, "abstract", b->abstract_name) &&
        terms->status.landlock_abi < 6) {
        doctor_say(l, DOCTOR_WARN,
                   "shared with sessions: Landlock of this kernel (ABI %u) cannot "
                   "scope them; refused to runs; %s",
                   terms->status.landlock_abi, listeners);
        return;
    }
    if (judge_refused(d, l, JUDGE_SESSION, "abstract", b->abstract_name) == 1)
        doctor_say(l, DOCTOR_PASS,
                   "a listener of root's: refused to runs (%s) and to a session "
                   "(%s), reached unconfined; %s",
                   judge_error(d, PROBE_NONE, "abstract", b->abstract_name),
                   judge_error(d, PROBE_SESSION, "abstract", b->abstract_name), listeners);
}

void check_path_sockets(struct doctor *d, struct doctor_line *l)
{
    size_t count = 0, reached = 0;
    const struct bait *b;
    const char *why;

    if (!judge_is_ready(d, l, WITH_PLAIN))
        return;
    b = attempts_bait(d, &why);
    if (b && b->path_socket[0]) {
        (void)judge_refused(d, l, JUDGE_CONFINED, "connect", b->path_socket);
        reached += judge_control(d, PROBE_PLAIN, "connect", b->path_socket);
    }
    if (reached == 0)
        doctor_say(l, DOCTOR_UNKNOWN, "unconfined the same uid does not reach ours either");
    for (; attempts_daemons[count]; count++) {
        (void)judge_refused(d, l, JUDGE_CONFINED, "connect", attempts_daemons[count]);
        reached += judge_control(d, PROBE_PLAIN, "connect", attempts_daemons[count]);
    }
    doctor_say(
        l, DOCTOR_PASS,
        "a socket of root's in /run, and %zu that a host may have (bus, systemd, docker, our "
        "own): none is reached by three doors; unconfined the same uid reaches %zu",
        count, reached);
}

void check_shared_memory(struct doctor *d, struct doctor_line *l)
{
    static const char *const kinds[] = {"memory", "semaphores", "queue"};
    const struct bait *b;
    char target[48];
    const char *why;

    if (!judge_is_ready(d, l, WITH_PLAIN))
        return;
    b = attempts_bait(d, &why);
    if (b && b->is_ipc_others)
        doctor_say(l, DOCTOR_UNKNOWN,
                   "somebody but root has an object of System V with key 0x%x, or the queue "
                   "/atelier-doctor; it stays: 'ipcs' and 'ls -l /dev/mqueue' say whose it is",
                   (unsigned)BAIT_SHM_KEY);
    if (!b || (!b->has_shm && !b->queue[0])) {
        doctor_say(l, DOCTOR_UNKNOWN, "nothing to be shared could be made");
        return;
    }
    for (size_t i = 0; b->has_shm && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        (void)snprintf(target, sizeof(target), "%s/%d", kinds[i], BAIT_SHM_KEY);
        (void)judge_refused(d, l, JUDGE_CONFINED, "shm", target);
        if (!judge_control(d, PROBE_PLAIN, "shm", target))
            doctor_say(l, DOCTOR_UNKNOWN, "unconfined the same uid has no %s either", kinds[i]);
    }
    if (b->queue[0]) {
        (void)judge_refused(d, l, JUDGE_CONFINED, "mqueue", b->queue);
        if (!judge_control(d, PROBE_PLAIN, "mqueue", b->queue))
            doctor_say(l, DOCTOR_UNKNOWN, "unconfined the same uid has no %s either", b->queue);
    }
    doctor_say(l, DOCTOR_PASS,
               "System V memory, semaphores and queue, and a POSIX queue, open to "
               "everybody: not there by three doors, there unconfined");
}

/* --- processes
 * ------------------------------------------------------------------------------------------ */

void check_other_processes(struct doctor *d, struct doctor_line *l)
{
    static const char *const calls[] = {"ptrace", "vm_read", "pidfd_getfd"};
    char victim[16], proc[32], pidfd[32];
    const struct bait *b;
    const char *why;

    if (!judge_is_ready(d, l, WITH_PLAIN))
        return;
    b = attempts_bait(d, &why);
    if (!b || b->victim <= 0) {
        doctor_say(l, DOCTOR_UNKNOWN, "there is no process to attack");
        return;
    }
    (void)snprintf(victim, sizeof(victim), "%d", b->victim);
    (void)snprintf(proc, sizeof(proc), "proc/%d", b->victim);
    (void)snprintf(pidfd, sizeof(pidfd), "pidfd/%d", b->victim);
    (void)judge_refused(d, l, JUDGE_CONFINED, "kill", victim);
    (void)judge_refused(d, l, JUDGE_CONFINED, "look", proc);
    (void)judge_refused(d, l, JUDGE_CONFINED, "look", pidfd);
    (void)judge_refused(d, l, JUDGE_CONFINED, "arguments", "others");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        (void)judge_refused(d, l, JUDGE_CONFINED, "calls", calls[i]);
    if (!judge_control(d, PROBE_PLAIN, "kill", victim) ||
        !judge_control(d, PROBE_PLAIN, "look", proc) ||
        !judge_control(d, PROBE_PLAIN, "arguments", "others"))
        doctor_say(l, DOCTOR_UNKNOWN, "unconfined the same uid does not reach it either");
    doctor_say(
        l, DOCTOR_PASS,
        "a process of the same uid on the host: no signal, /proc, pidfd or argument of it by "
        "three doors, nor ptrace, process_vm_readv and pidfd_getfd; all of it unconfined");
}

void check_terminals(struct doctor *d, struct doctor_line *l)
{
    const struct said_line *ptys;

    if (!judge_is_ready(d, l, JUDGE_CONFINED))
        return;
    (void)judge_all_refused(d, l, JUDGE_CONFINED, "type", NULL);
    if (judge_refused(d, l, JUDGE_CONFINED, "ptys", "all") != 3)
        return;
    ptys = said_find(attempts(d, PROBE_SESSION), "ptys", "all");
    doctor_say(l, DOCTOR_PASS, "a session: %s terminals (%s), runs: none (%s); TIOCSTI: %s",
               strncmp(ptys->detail, "after ", 6) == 0 ? ptys->detail + 6 : ptys->detail,
               ptys->error, judge_error(d, PROBE_NONE, "ptys", "all"),
               judge_error(d, PROBE_SESSION, "type", "stdin"));
}

void check_descriptors(struct doctor *d, struct doctor_line *l)
{
    if (!judge_is_ready(d, l, JUDGE_CONFINED))
        return;
    if (judge_refused(d, l, JUDGE_CONFINED, "descriptors", "others") == 3)
        doctor_say(l, DOCTOR_PASS, "by three doors: %s",
                   said_find(attempts(d, PROBE_NONE), "descriptors", "others")->detail);
}

void check_environment(struct doctor *d, struct doctor_line *l)
{
    if (!judge_is_ready(d, l, JUDGE_NONE | JUDGE_PUBLIC))
        return;
    if (judge_refused(d, l, JUDGE_NONE | JUDGE_PUBLIC, "environment", "others") == 2)
        doctor_say(l, DOCTOR_PASS, "%s, and nothing of the daemons'",
                   said_find(attempts(d, PROBE_NONE), "environment", "others")->detail);
}

void check_core_dumps(struct doctor *d, struct doctor_line *l)
{
    char pattern[128] = "";
    FILE *file;

    if (!judge_is_ready(d, l, JUDGE_CONFINED))
        return;
    if (judge_refused(d, l, JUDGE_CONFINED, "core", "dump") != 3)
        return;
    file = fopen("/proc/sys/kernel/core_pattern", "re");
    if (file && fgets(pattern, sizeof(pattern), file))
        pattern[strcspn(pattern, "\n")] = '\0';
    if (file)
        (void)fclose(file);
    doctor_say(l, DOCTOR_PASS, "run: %s; session: %s; the host's pattern is \"%s\"",
               said_find(attempts(d, PROBE_NONE), "core", "dump")->detail,
               said_find(attempts(d, PROBE_SESSION), "core", "dump")->detail, pattern);
}

/* --- what is left
 * ---------------------------------------------------------------------------------------- */

/* Processes of the doctor's uids, but the one that is there to be attacked. */
static int leftover_count(const struct bait *b, char *ret_text, size_t size)
{
    struct text text = {0};
    FILE *out = text_begin(&text);
    int n = processes_list("/proc", probe_uid(0), probe_uid(3), out);
    char victim[24];

    text_end(&text, out);
    (void)snprintf(victim, sizeof(victim), "%d (", b->victim);
    if (n > 0 && b->victim > 0 && text.bytes && strstr(text.bytes, victim))
        n--;
    (void)snprintf(ret_text, size, "%s", text.bytes ? text.bytes : "");
    text_done(&text);
    return n;
}

void check_persistence(struct doctor *d, struct doctor_line *l)
{
    const unsigned later = JUDGE_PUBLIC | JUDGE_SESSION;
    size_t files = 0, lingered = 0;
    const struct bait *b;
    char text[256];
    const char *why;
    int n = 0;

    if (!judge_is_ready(d, l, JUDGE_CONFINED))
        return;
    b = attempts_bait(d, &why);
    for (; attempts_left[files]; files++) {
        if (!judge_control(d, PROBE_NONE, "leave", attempts_left[files]))
            doctor_say(l, DOCTOR_UNKNOWN, "%s could not be left", attempts_left[files]);
        (void)judge_refused(d, l, later, "see", attempts_left[files]);
    }
    for (unsigned door = PROBE_NONE; door <= PROBE_SESSION; door++)
        lingered += judge_control(d, (enum probe_door)door, "linger", "process");
    /* Whatever a busy machine takes to reap them. */
    for (int i = 0; b && i < 25 && (n = leftover_count(b, text, sizeof(text))) > 0; i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    if (!b || n != 0)
        doctor_say(l, n > 0 ? DOCTOR_FAIL : DOCTOR_UNKNOWN, "left behind: %s", n > 0 ? text : "?");
    else if (lingered != 3)
        doctor_say(l, DOCTOR_UNKNOWN, "%zu of 3 processes were left behind to be looked for",
                   lingered);
    doctor_say(
        l, DOCTOR_PASS,
        "%zu files of a run are not seen by the next, nor by a session; 3 processes that left "
        "their parents are gone",
        files);
}
