/* SPDX-License-Identifier: ISC */
/*
 * prove.c - carries out behaviours, each in namespaces of its own, and says what came of them.
 *
 * Processes, from the outside: the program; for each behaviour a guard, which makes the namespaces
 * and has the time limit; PID 1 of them, which reaps; the behaviour. Each dies with the one before
 * it (PR_SET_PDEATHSIG; none changes its credentials before the behaviour does), and PID 1 takes
 * everything with it. The verdict is in shared memory: whoever fails first writes it.
 */
#include "tests/kernel/prove.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/banned.h"

#define LIMIT_S 20u

enum verdict { HELD, FAILED, SKIPPED };

/* In memory that all processes of a program share. */
static struct {
    enum verdict verdict;
    bool is_inverted;
    unsigned controls, musts, fact_count;
    char why[512];
    char facts[16][64];
} * seen;

uid_t uid_a, uid_b;
bool host_is_disposable;
pid_t program_pid;
static int janitor_pipe = -1;

/* The first word stands. A race between two failures loses one of two true sentences. */
static _Noreturn void end_with(enum verdict verdict, const char *why)
{
    if (seen->verdict == HELD) {
        (void)snprintf(seen->why, sizeof(seen->why), "%s", why);
        seen->verdict = verdict;
    }
    _exit(1);
}

void prove_check(enum prove_kind kind, bool holds, const char *claim, const char *file, int line)
{
    static const char *const kinds[] = {
        [PROVE_SETUP] = "setup", [PROVE_CONTROL] = "control", [PROVE_MUST] = "must"};
    const char *name = strrchr(file, '/');
    char why[sizeof(seen->why)];
    int err = errno;

    if (kind == PROVE_MUST) {
        seen->musts++;
        if (seen->is_inverted)
            holds = !holds;
    } else if (kind == PROVE_CONTROL) {
        seen->controls++;
    }
    if (holds)
        return;
    (void)snprintf(why, sizeof(why), "%s:%d: %s: %s (errno %d, %s)", name ? name + 1 : file, line,
                   kinds[kind], claim, err, strerror(err));
    end_with(FAILED, why);
}

_Noreturn void prove_skip(const char *reason)
{
    end_with(SKIPPED, reason);
}

void prove_fact(const char *name, const char *value)
{
    SETUP(seen->fact_count < sizeof(seen->facts) / sizeof(seen->facts[0]));
    (void)snprintf(seen->facts[seen->fact_count++], sizeof(seen->facts[0]), "fact %s %s", name,
                   value);
}

/* --- one behaviour -------------------------------------------------------------------------- */

/* A world of its own; PID 1 is not made yet. */
static void world_make(void)
{
    SETUP(unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == 0);
    SETUP(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
}

/* As PID 1: what its PID namespace is needed for. */
static void world_fill(void)
{
    SETUP(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0);
    /* /run, because the lock of iptables is there: it has to be a lock of our own. */
    SETUP(mount("tmpfs", "/run", "tmpfs", 0, "mode=0755") == 0);
    SETUP(mount("tmpfs", "/tmp", "tmpfs", 0, "mode=0755") == 0);
    SETUP(chdir("/tmp") == 0);
}

static _Noreturn void init_main(void (*prove)(void))
{
    pid_t pid;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    world_fill();
    pid = fork();
    SETUP(pid >= 0);
    if (pid == 0) {
        prove();
        _exit(0);
    }
    for (;;) {
        int status;
        pid_t gone = waitpid(-1, &status, 0);

        if (gone == pid)
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        if (gone < 0 && errno != EINTR)
            _exit(2);
    }
}

static _Noreturn void guard_main(void (*prove)(void))
{
    struct rlimit core;
    sigset_t none;
    pid_t pid;
    int code;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != program_pid)
        _exit(2);
    if (janitor_pipe >= 0)
        (void)close(janitor_pipe);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (int signum = 1; signum < SIGRTMIN; signum++)
        (void)signal(signum, SIG_DFL);
    /* A program that is to crash must not start a helper of the host's. */
    SETUP(getrlimit(RLIMIT_CORE, &core) == 0);
    core.rlim_cur = core.rlim_max < 1 ? core.rlim_max : 1;
    SETUP(setrlimit(RLIMIT_CORE, &core) == 0);
    (void)alarm(LIMIT_S); /* PID 1 goes with us, and it with all */
    world_make();
    pid = fork();
    SETUP(pid >= 0);
    if (pid == 0)
        init_main(prove);
    code = child_end(pid);
    _exit(code);
}

static void behaviour_run(const struct behaviour *what)
{
    bool is_inverted = seen->is_inverted;
    char why[64];
    pid_t pid;
    int code;

    memset(seen, 0, sizeof(*seen));
    seen->is_inverted = is_inverted;
    pid = fork();
    if (pid == 0)
        guard_main(what->prove);
    code = pid < 0 ? 1 : child_end(pid);
    if (seen->verdict != HELD)
        return;
    if (code == 128 + SIGALRM)
        (void)snprintf(why, sizeof(why), "not over after %u s", LIMIT_S);
    else if (code != 0)
        (void)snprintf(why, sizeof(why), "its process ended with %d", code);
    else if (seen->controls == 0)
        (void)snprintf(why, sizeof(why), "it has no control");
    else if (seen->musts == 0)
        (void)snprintf(why, sizeof(why), "it claims nothing");
    else
        return;
    seen->verdict = FAILED;
    (void)snprintf(seen->why, sizeof(seen->why), "%s", why);
}

/* Inverted, each claim is taken for its opposite: then a behaviour that holds proves nothing. */
static void invert(void)
{
    if (seen->verdict == SKIPPED)
        return;
    if (seen->verdict == FAILED && seen->musts > 0 && strstr(seen->why, ": must: ")) {
        seen->verdict = HELD;
        return;
    }
    if (seen->verdict == HELD)
        (void)snprintf(seen->why, sizeof(seen->why), "it holds although it is inverted");
    seen->verdict = FAILED;
}

/* --- all of them ---------------------------------------------------------------------------- */

/* Cleans when the program has gone, however: it holds the only other end of the pipe. */
static void janitor_start(void (*clean)(void))
{
    int ends[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t pid;

    SETUP(pipe2(ends, O_CLOEXEC) == 0);
    pid = fork();
    SETUP(pid >= 0);
    if (pid == 0) {
        char byte;

        (void)close(ends[1]);
        for (int fd = 0; fd < 3; fd++) /* who waits for our output does not wait for this one */
            (void)dup2(null, fd);
        (void)setsid();
        (void)signal(SIGINT, SIG_IGN);
        (void)signal(SIGTERM, SIG_IGN);
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
            ;
        clean();
        _exit(0);
    }
    (void)close(ends[0]);
    (void)close(null);
    janitor_pipe = ends[1];
}

static bool is_named(const char *name, int argc, char **argv)
{
    bool any = false;

    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-')
            continue;
        if (strcmp(argv[i], name) == 0)
            return true;
        any = true;
    }
    return !any;
}

static bool has_option(const char *option, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], option) == 0)
            return true;
    return false;
}

static void verdict_print(const char *program, const char *name)
{
    static const char *const words[] = {[HELD] = "ok", [FAILED] = "not ok", [SKIPPED] = "SKIP"};

    for (unsigned i = 0; i < seen->fact_count; i++)
        (void)puts(seen->facts[i]);
    (void)printf("%s %s.%s%s%s\n", words[seen->verdict], program, name,
                 seen->verdict == HELD ? "" : ": ", seen->verdict == HELD ? "" : seen->why);
    (void)fflush(stdout);
}

void act_perform(int argc, char **argv);

int prove_main(int argc, char **argv, const char *program, const struct behaviour *list,
               size_t count, void (*clean)(void))
{
    unsigned counts[3] = {0};

    act_perform(argc, argv);
    if (has_option("--list", argc, argv)) {
        for (size_t i = 0; i < count; i++)
            (void)printf("%s.%s\n", program, list[i].name);
        return 0;
    }
    seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED)
        return 2;
    if (geteuid() != 0) {
        (void)printf("not ok %s: must be root\n0 passed, 1 failed, 0 skipped\n", program);
        return 1;
    }
    program_pid = getpid();
    uid_a = 1600000000u + 2 * (unsigned)program_pid;
    uid_b = uid_a + 1;
    (void)umask(022);
    (void)fflush(stdout);
    if (clean)
        janitor_start(clean);
    seen->is_inverted = has_option("--inverted", argc, argv);
    host_is_disposable = has_option("--disposable", argc, argv);
    for (size_t i = 0; i < count; i++) {
        if (!is_named(list[i].name, argc, argv))
            continue;
        behaviour_run(&list[i]);
        if (clean)
            clean();
        if (seen->is_inverted)
            invert();
        verdict_print(program, list[i].name);
        counts[seen->verdict]++;
    }
    (void)printf("%u passed, %u failed, %u skipped\n", counts[HELD], counts[FAILED],
                 counts[SKIPPED]);
    return counts[FAILED] > 0;
}
