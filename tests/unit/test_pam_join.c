/* SPDX-License-Identifier: ISC */
/*
 * test_pam_join.c - open_session and close_session of the built module, through the real libpam,
 * with real namespaces and the real filter. Only sessiond is played: by a process that makes the
 * namespaces and says what the case wants. Needs root. Each login is a process of its own, because
 * there is no way back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/session_wire.h"
#include "policy/filter.h"
#include "tests/unit/pam_fixture.h"
#include "tests/unit/pam_service.h"

#include "common/banned.h"

#define ID         "0123456789abcdef0123456789abcdef"
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)
#define NPROC      77u
#define SCOPE_ABI  6 /* Linux 6.12, Documentation/userspace-api/landlock.rst */

/* --- sessiond, played --- */

enum scope {
    SCOPE_NONE,
    SCOPE_ABSTRACT,    /* a ruleset that scopes abstract names */
    SCOPE_FORGOTTEN,   /* a ruleset that does not */
    SCOPE_NO_LISTENER, /* a ruleset that does, and a probe that nobody listens to */
};

struct play {
    enum scope scope;
    int probe_type; /* SOCK_* of the listener */
    bool deny_open;
    bool deny_lease;
    bool init_is_gone;
    bool pidfd_is_a_directory;
};

static struct sock_filter *insns;
static size_t insn_count;

static void hear(uint32_t what, uint32_t more)
{
    const uint32_t words[2] = {what, more};

    (void)!write(fake_tell_fd, words, sizeof(words));
}

static void head_send(int conn, enum session_type type)
{
    struct session_head head = {SESSION_WIRE_VERSION, type, sizeof(head), 0};

    (void)msg_send(conn, &head, sizeof(head), NULL, 0);
}

static pid_t init_make(bool is_gone)
{
    pid_t pid = (pid_t)syscall(SYS_clone, NAMESPACES | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (!is_gone)
            (void)pause();
        _exit(0);
    }
    if (is_gone)
        (void)waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
    return pid;
}

/* linux/landlock.h of Debian 12 has the first member alone. */
struct ruleset {
    uint64_t handled_access_fs, handled_access_net, scoped;
};

static int ruleset_make(enum scope scope)
{
    struct ruleset r = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK,
                        .scoped = scope == SCOPE_FORGOTTEN ? 0 : 1 /* ABSTRACT_UNIX_SOCKET */};

    return (int)syscall(SYS_landlock_create_ruleset, &r, sizeof(r), 0u);
}

static int abi_of_landlock(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0u, LANDLOCK_CREATE_RULESET_VERSION);
}

/* The listener lives as long as the daemon's process: it is what the probe has to find. */
static void probe_listen(const char *name, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path + 1, name, len);
    if (fd < 0 ||
        bind(fd, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)) < 0 ||
        listen(fd, 8) < 0)
        _exit(3);
}

static void opened_send(int conn, const struct play *play, pid_t init)
{
    static struct session_opened o;
    int fds[2];

    memset(&o, 0, sizeof(o));
    o.head = (struct session_head){SESSION_WIRE_VERSION, SESSION_OPENED, sizeof(o), 0};
    o.setns_flags = NAMESPACES;
    o.has_landlock = play->scope != SCOPE_NONE;
    o.rlimits[o.rlimit_count++] = (struct session_rlimit){RLIMIT_NPROC, 0, NPROC};
    o.rlimits[o.rlimit_count++] = (struct session_rlimit){RLIMIT_CORE, 1, 1};
    o.filter_count = (uint32_t)insn_count;
    memcpy(o.filter, insns, insn_count * sizeof(*insns));
    memcpy(o.session_id, ID, sizeof(ID));
    (void)snprintf(o.probe_name, sizeof(o.probe_name), "atelier-test-%d", (int)getpid());
    if (o.has_landlock && play->scope != SCOPE_NO_LISTENER)
        probe_listen(o.probe_name, play->probe_type);
    fds[0] = play->pidfd_is_a_directory ? open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                        : (int)syscall(SYS_pidfd_open, init, 0u);
    fds[1] = o.has_landlock ? ruleset_make(play->scope) : -1;
    if (play->init_is_gone)
        (void)waitpid(init, NULL, 0);
    (void)msg_send(conn, &o, sizeof(o), fds, o.has_landlock ? 2 : 1);
    (void)close(fds[0]);
    (void)close(fds[1]);
    hear(SESSION_OPENED, (uint32_t)init);
}

static void serve_session(int conn, const void *arg)
{
    const struct play *play = arg;
    struct session_open open;
    struct session_lease lease;
    struct session_head head;
    pid_t init;

    if (recv(conn, &open, sizeof(open), 0) != sizeof(open) || open.head.type != SESSION_OPEN)
        return;
    hear(SESSION_OPEN, open.uid);
    if (play->deny_open) {
        head_send(conn, SESSION_DENIED);
        return;
    }
    init = init_make(play->init_is_gone);
    opened_send(conn, play, init);
    if (recv(conn, &lease, sizeof(lease), 0) == sizeof(lease)) {
        hear(lease.head.type, lease.is_scoped);
        head_send(conn, play->deny_lease ? SESSION_DENIED : SESSION_LEASED);
        hear(recv(conn, &head, sizeof(head), 0) == sizeof(head) ? head.type : 0, 0);
    }
    if (!play->init_is_gone) {
        (void)kill(init, SIGKILL);
        (void)waitpid(init, NULL, 0);
    }
}

/* --- the login --- */

enum chld {
    CHLD_DEFAULT,
    CHLD_IGNORED,
    CHLD_BLOCKED,
    CHLD_REAPED, /* a handler that waits for every child */
};

struct wish {
    enum chld chld;
    bool has_thread;
    bool open_twice;
    bool has_no_core;      /* hard limit 0, as limits.conf(5) of a host may have it */
    bool lose_descriptors; /* as a host that closes everything above 2, and goes on */
};

/* What the login saw of itself, after open_session. */
struct seen {
    int opened, opened_again, closed, closed_again;
    int nnp, seccomp, bounding, ambient, nproc, core, setns_errno, sockets, others, spared;
    bool mnt_differs, child_is_inside, env_is_the_id, is_caged;
};

static int converse(int n, const struct pam_message **msg, struct pam_response **ret, void *data)
{
    (void)msg;
    (void)data;
    *ret = calloc((size_t)n, sizeof(**ret));
    return *ret ? PAM_SUCCESS : PAM_BUF_ERR;
}

static void reap(int signo)
{
    (void)signo;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

static void chld_set(enum chld chld)
{
    sigset_t set;

    switch (chld) {
    case CHLD_DEFAULT:
        return;
    case CHLD_IGNORED:
        (void)signal(SIGCHLD, SIG_IGN);
        return;
    case CHLD_BLOCKED:
        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGCHLD);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
        return;
    case CHLD_REAPED:
        (void)signal(SIGCHLD, reap);
        return;
    }
}

static void *stand(void *arg)
{
    (void)arg;
    for (;;)
        (void)pause();
    return NULL;
}

static void descriptors_count(struct seen *seen)
{
    struct stat st;

    for (int fd = 3; fd < 256; fd++) {
        if (fstat(fd, &st) < 0)
            continue;
        if (S_ISSOCK(st.st_mode))
            seen->sockets++;
        else
            seen->others++;
    }
}

/* The child of a process that has joined is the namespace's, whoever made it. */
static bool child_is_inside(void)
{
    int fds[2], pid = -1;

    if (pipe(fds) < 0)
        return false;
    if (fork() == 0) {
        pid = (int)getpid();
        (void)!write(fds[1], &pid, sizeof(pid));
        _exit(0);
    }
    (void)close(fds[1]);
    (void)!read(fds[0], &pid, sizeof(pid));
    (void)close(fds[0]);
    return pid > 1 && pid < 10;
}

/* No program, no terminal, no network; but forks, pipes and the log's socket. */
static bool is_caged(void)
{
    char *argv[] = {(char *)(uintptr_t) "/bin/true", NULL};
    int ptmx = posix_openpt(O_RDWR | O_NOCTTY), inet = socket(AF_INET, SOCK_STREAM, 0);
    int local = socket(AF_UNIX, SOCK_DGRAM, 0), number = 0, status = 0;
    pid_t pid = fork();
    bool is;

    if (pid == 0) {
        (void)execve(argv[0], argv, NULL);
        _exit(errno == EPERM ? 42 : 1);
    }
    (void)waitpid(pid, &status, 0);
    is = pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 42 && inet < 0 && local >= 0 &&
         (ptmx < 0 || (ioctl(ptmx, TIOCGPTN, &number) < 0 && errno == EPERM));
    if (ptmx >= 0)
        (void)close(ptmx);
    if (inet >= 0)
        (void)close(inet);
    if (local >= 0)
        (void)close(local);
    return is;
}

static void look(pam_handle_t *pamh, const struct stat *mnt_before, struct seen *seen)
{
    char **env = pam_getenvlist(pamh);
    struct rlimit nproc = {0}, core = {0};
    struct stat mnt = {0};

    seen->nnp = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    seen->seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        seen->bounding += prctl(PR_CAPBSET_READ, cap, 0, 0, 0);
    for (unsigned long cap = 0; prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) >= 0; cap++)
        seen->ambient += prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0);
    (void)getrlimit(RLIMIT_NPROC, &nproc);
    seen->nproc = nproc.rlim_max == nproc.rlim_cur ? (int)nproc.rlim_max : -1;
    (void)getrlimit(RLIMIT_CORE, &core);
    seen->core = core.rlim_max == core.rlim_cur ? (int)core.rlim_max : -1;
    seen->setns_errno = setns(-1, 0) < 0 ? errno : 0;
    seen->mnt_differs = stat("/proc/self/ns/mnt", &mnt) == 0 && mnt.st_ino != mnt_before->st_ino;
    seen->env_is_the_id = env && env[0] && strcmp(env[0], "ATELIER_SESSION=" ID) == 0 && !env[1];
    descriptors_count(seen);
    seen->child_is_inside = child_is_inside();
    seen->is_caged = is_caged();
}

/* Its number is the connection's, if that was closed; it must survive close_session. */
static int spared_make(void)
{
    int fds[2];

    (void)syscall(SYS_close_range, 3u, ~0u, 0u);
    return pipe(fds) < 0 ? -1 : fds[1];
}

static void login_run(const struct wish *wish, int result_fd)
{
    const struct pam_conv conv = {converse, NULL};
    struct seen seen = {0};
    pam_handle_t *pamh;
    struct stat mnt = {0};
    const struct rlimit no_core = {0, 0};
    pthread_t thread;
    int result = fcntl(result_fd, F_DUPFD, 1000), spared = -1;

    (void)syscall(SYS_close_range, 3u, 999u, 0u);
    chld_set(wish->chld);
    if (wish->has_thread)
        (void)pthread_create(&thread, NULL, stand, NULL);
    if (wish->has_no_core)
        (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)stat("/proc/self/ns/mnt", &mnt);
    pamh = service_start("only", "alice", &conv);
    if (!pamh)
        _exit(2);
    seen.opened = pam_open_session(pamh, 0);
    look(pamh, &mnt, &seen);
    if (wish->open_twice)
        seen.opened_again = pam_open_session(pamh, 0);
    if (wish->lose_descriptors) {
        (void)dup2(result, 2); /* the only descriptor that such a host leaves */
        spared = spared_make();
        result = 2;
    }
    seen.closed = pam_close_session(pamh, 0);
    seen.closed_again = pam_close_session(pamh, 0);
    seen.spared = spared < 0 || fcntl(spared, F_GETFD) >= 0;
    (void)pam_end(pamh, 0);
    (void)!write(result, &seen, sizeof(seen));
    _exit(0);
}

struct told {
    uint32_t what, more;
};

/* One login. Return: how many things sessiond heard, into told[8]. */
static size_t login(const struct play *play, const struct wish *wish, struct seen *ret_seen,
                    struct told told[8])
{
    struct fake fake;
    int fds[2];
    pid_t pid;
    size_t n;

    memset(told, 0, 8 * sizeof(*told));
    memset(ret_seen, 0xff, sizeof(*ret_seen));
    fake = fake_start(FAKE_SESSION_SOCKET, serve_session, play);
    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        login_run(wish, fds[1]);
    (void)close(fds[1]);
    assert_int_equal(read(fds[0], ret_seen, sizeof(*ret_seen)), sizeof(*ret_seen));
    (void)close(fds[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    n = fake_heard(&fake, told, 8 * sizeof(*told), 4 * sizeof(*told)) / sizeof(*told);
    fake_stop(&fake);
    return n;
}

static void needs_root(void)
{
    if (geteuid() != 0) {
        print_message("SKIP: namespaces need root\n");
        skip();
    }
}

static void needs_scopes(void)
{
    needs_root();
    if (abi_of_landlock() < SCOPE_ABI) {
        print_message("SKIP: Landlock of this kernel has no scopes (ABI %d)\n", abi_of_landlock());
        skip();
    }
}

static void is_confined(const struct seen *seen)
{
    assert_int_equal(seen->nnp, 1);
    assert_int_equal(seen->seccomp, 2);
    assert_int_equal(seen->bounding, 0);
    assert_int_equal(seen->ambient, 0);
    assert_int_equal(seen->nproc, NPROC);
    assert_int_equal(seen->core, 1);
    assert_int_equal(seen->setns_errno, EPERM); /* the filter's; without it EBADF */
    assert_true(seen->mnt_differs);
    assert_true(seen->child_is_inside);
    assert_false(seen->is_caged);
    assert_true(seen->env_is_the_id);
}

static void login_is_confined_and_says_goodbye(void **state)
{
    struct seen seen;
    struct told told[8];

    (void)state;
    needs_root();
    for (int chld = CHLD_DEFAULT; chld <= CHLD_REAPED; chld++) {
        assert_int_equal(
            login(&(struct play){0}, &(struct wish){.chld = (enum chld)chld}, &seen, told), 4);
        assert_int_equal(seen.opened, PAM_SUCCESS);
        is_confined(&seen);
        /* The result pipe at 1000 is not counted. */
        assert_int_equal(seen.sockets, 1);
        assert_int_equal(seen.others, 0);
        assert_int_equal(seen.closed, PAM_SUCCESS);
        assert_int_equal(seen.closed_again, PAM_SUCCESS);
        assert_int_equal(told[0].what, SESSION_OPEN);
        assert_int_equal(told[0].more, 10001);
        assert_int_equal(told[2].what, SESSION_LEASE);
        assert_int_equal(told[2].more, 0);
        assert_int_equal(told[3].what, SESSION_CLOSE);
    }
}

/* Root of a container may not raise a hard limit: asked of a child, which cannot come back. */
static bool limits_can_be_raised(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        const struct rlimit none = {0, 0}, one = {1, 1};

        _exit(setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_CORE, &one) < 0);
    }
    (void)waitpid(pid, &status, 0);
    return status == 0;
}

/* At 0 a dump goes to the host's handler, at 1 to nobody: less is not stronger. */
static void core_limit_is_raised_or_the_login_is_refused(void **state)
{
    struct seen seen;
    struct told told[8];

    (void)state;
    needs_root();
    (void)login(&(struct play){0}, &(struct wish){.has_no_core = true}, &seen, told);
    if (limits_can_be_raised()) {
        assert_int_equal(seen.opened, PAM_SUCCESS);
        is_confined(&seen);
    } else {
        assert_int_equal(seen.opened, PAM_SESSION_ERR);
    }
}

/* sshd goes on, and forks its part for the participant: it can say a sentence, and no more. */
static void denied_session_ends_in_a_cage(void **state)
{
    struct seen seen;
    struct told told[8];

    (void)state;
    needs_root();
    assert_int_equal(login(&(struct play){.deny_open = true}, &(struct wish){0}, &seen, told), 1);
    assert_int_equal(seen.opened, PAM_SESSION_ERR);
    assert_true(seen.is_caged);
    assert_int_equal(seen.nnp, 1);
    assert_int_equal(seen.seccomp, 2);
    assert_true(seen.bounding > 0);
    assert_false(seen.mnt_differs);
    assert_false(seen.env_is_the_id);
}

/* From the join on nothing may continue: no success, not even at a second try. */
static void denied_lease_is_the_end(void **state)
{
    struct seen seen;
    struct told told[8];
    size_t n;

    (void)state;
    needs_root();
    n = login(&(struct play){.deny_lease = true}, &(struct wish){.open_twice = true}, &seen, told);
    assert_int_equal(n, 4);
    assert_int_equal(seen.opened, PAM_SESSION_ERR);
    assert_int_equal(seen.opened_again, PAM_SESSION_ERR);
    assert_int_equal(told[3].what, 0); /* the connection is closed, no word said */
    assert_true(seen.mnt_differs);
}

static void second_session_is_refused_and_the_first_stays(void **state)
{
    struct seen seen;
    struct told told[8];

    (void)state;
    needs_root();
    assert_int_equal(login(&(struct play){0}, &(struct wish){.open_twice = true}, &seen, told), 4);
    assert_int_equal(seen.opened, PAM_SUCCESS);
    assert_int_equal(seen.opened_again, PAM_SESSION_ERR);
    assert_int_equal(told[3].what, SESSION_CLOSE);
}

static void caller_with_threads_is_refused(void **state)
{
    struct seen seen;
    struct told told[8];

    (void)state;
    needs_root();
    assert_int_equal(login(&(struct play){0}, &(struct wish){.has_thread = true}, &seen, told), 2);
    assert_int_equal(seen.opened, PAM_SESSION_ERR);
    assert_false(seen.mnt_differs);
    assert_true(seen.is_caged);
    assert_true(seen.bounding > 0);
}

static void namespace_without_its_init_is_refused(void **state)
{
    struct seen seen;
    struct told told[8];

    (void)state;
    needs_root();
    (void)login(&(struct play){.init_is_gone = true}, &(struct wish){0}, &seen, told);
    assert_int_equal(told[0].what, SESSION_OPEN);
    assert_int_equal(seen.opened, PAM_SESSION_ERR);
    assert_false(seen.mnt_differs);
}

static void directory_for_a_pidfd_is_refused(void **state)
{
    struct seen seen;
    struct told told[8];

    (void)state;
    needs_root();
    (void)login(&(struct play){.pidfd_is_a_directory = true}, &(struct wish){0}, &seen, told);
    assert_int_equal(told[0].what, SESSION_OPEN);
    assert_int_equal(seen.opened, PAM_SESSION_ERR);
    assert_int_equal(seen.others, 0);
    assert_false(seen.mnt_differs);
}

static void descriptor_that_was_lost_is_left_alone(void **state)
{
    struct seen seen;
    struct told told[8];

    (void)state;
    needs_root();
    (void)login(&(struct play){0}, &(struct wish){.lose_descriptors = true}, &seen, told);
    assert_int_equal(seen.opened, PAM_SUCCESS);
    assert_int_equal(seen.closed, PAM_SUCCESS);
    assert_int_equal(seen.spared, 1);
    assert_int_equal(told[3].what, 0);
}

static void scope_is_proven(void **state)
{
    static const int types[] = {SOCK_SEQPACKET, SOCK_STREAM};
    struct seen seen;
    struct told told[8];

    (void)state;
    needs_scopes();
    for (size_t i = 0; i < 2; i++) {
        struct play play = {.scope = SCOPE_ABSTRACT, .probe_type = types[i]};

        assert_int_equal(login(&play, &(struct wish){0}, &seen, told), 4);
        assert_int_equal(seen.opened, PAM_SUCCESS);
        is_confined(&seen);
        assert_int_equal(seen.sockets, 1);
        assert_int_equal(seen.others, 0);
        assert_int_equal(told[2].what, SESSION_LEASE);
        assert_int_equal(told[2].more, 1);
    }
}

static void scope_that_does_not_hold_is_refused(void **state)
{
    struct play play = {.scope = SCOPE_FORGOTTEN, .probe_type = SOCK_SEQPACKET};
    struct seen seen;
    struct told told[8];

    (void)state;
    needs_scopes();
    assert_int_equal(login(&play, &(struct wish){0}, &seen, told), 2);
    assert_int_equal(seen.opened, PAM_SESSION_ERR);
    play.scope = SCOPE_NO_LISTENER;
    assert_int_equal(login(&play, &(struct wish){0}, &seen, told), 2);
    assert_int_equal(seen.opened, PAM_SESSION_ERR);
}

static int prepare(void **state)
{
    if (dir_enter(state) < 0 || services_make(state) < 0)
        return -1;
    return filter_build(FILTER_LOGIN, &insns, &insn_count) < 0 ? -1 : 0;
}

static int release(void **state)
{
    free(insns);
    services_remove();
    return dir_leave(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(login_is_confined_and_says_goodbye),
        cmocka_unit_test(denied_session_ends_in_a_cage),
        cmocka_unit_test(core_limit_is_raised_or_the_login_is_refused),
        cmocka_unit_test(denied_lease_is_the_end),
        cmocka_unit_test(second_session_is_refused_and_the_first_stays),
        cmocka_unit_test(caller_with_threads_is_refused),
        cmocka_unit_test(namespace_without_its_init_is_refused),
        cmocka_unit_test(directory_for_a_pidfd_is_refused),
        cmocka_unit_test(descriptor_that_was_lost_is_left_alone),
        cmocka_unit_test(scope_is_proven),
        cmocka_unit_test(scope_that_does_not_hold_is_refused),
    };

    return cmocka_run_group_tests(tests, prepare, release);
}
