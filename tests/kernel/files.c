/* SPDX-License-Identifier: ISC */
/* files.c - locks, leases, FIFOs, seals, pipes: what opening and reading foreign files may meet. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

#define AT_ONCE_MS 2000
#define WAITS_MS   300

/* --- locks ---------------------------------------------------------------------------------- */

static int lock(int fd, short type)
{
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};

    return fcntl(fd, F_SETLK, &whole) == 0 ? 0 : errno;
}

/* Whether somebody else could write-lock the file now: the errno, or 0. */
static void lock_try(void *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    _exit(fd < 0 ? 255 : lock(fd, F_WRLCK));
}

static bool is_locked(void)
{
    char path[] = "file";

    return child_run(lock_try, path) == EAGAIN;
}

/* So the locks of SQLite do not survive a second SQLite in the process. */
static void any_close_of_the_file_drops_record_locks(void)
{
    int held, other;

    SETUP(file_write("file", "x") == 0);
    held = open("file", O_RDWR | O_CLOEXEC);
    SETUP(lock(held, F_WRLCK) == 0);
    CONTROL(is_locked());
    other = open("file", O_RDONLY | O_CLOEXEC);
    CONTROL(is_locked());
    SETUP(close(other) == 0);
    MUST(!is_locked() && fcntl(held, F_GETFD) >= 0);
}

static void open_file_locks_survive_it(void)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int held;

    SETUP(file_write("file", "x") == 0);
    held = open("file", O_RDWR | O_CLOEXEC);
    CONTROL(!is_locked());
    SETUP(fcntl(held, F_OFD_SETLK, &whole) == 0);
    SETUP(close(open("file", O_RDONLY | O_CLOEXEC)) == 0);
    MUST(is_locked());
}

static int locked[2];

static void lock_as_reader(void *arg)
{
    int fd;

    (void)arg;
    become(uid_a);
    fd = open("/tmp/file", O_RDONLY | O_CLOEXEC);
    SETUP(fd >= 0 && open("/tmp/file", O_WRONLY | O_CLOEXEC) < 0);
    SETUP(lock(fd, F_RDLCK) == 0 && write(locked[1], "", 1) == 1);
    (void)pause();
}

/* Whoever may read can keep the owner from writing: the registry is nobody's to read. */
static void a_reader_can_lock_out_the_writer(void)
{
    char byte;

    SETUP(pipe2(locked, O_CLOEXEC) == 0 && file_write("/tmp/file", "x") == 0);
    CONTROL(!is_locked());
    (void)child_start(lock_as_reader, NULL);
    SETUP(read(locked[0], &byte, 1) == 1);
    MUST(is_locked());
}

/* --- replaced and truncated files ----------------------------------------------------------- */

static void rename_leaves_the_old_file_to_who_has_it_open(void)
{
    struct stat st;
    char text[8] = "";
    int fd;

    SETUP(file_write("index", "old") == 0 && file_write("next", "new") == 0);
    fd = open("index", O_RDONLY | O_CLOEXEC);
    SETUP(fstat(fd, &st) == 0 && st.st_nlink == 1 && rename("next", "index") == 0);
    MUST(pread(fd, text, sizeof(text), 0) == 3 && memcmp(text, "old", 3) == 0);
    MUST(fstat(fd, &st) == 0 && st.st_nlink == 0);
    CONTROL(file_read("index", text, sizeof(text)) && strcmp(text, "new") == 0);
}

static void read_mapped(void *is_truncated)
{
    int fd = open("file", O_RDWR | O_CLOEXEC);
    const volatile char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    char byte;

    SETUP(map != MAP_FAILED && map[0] == 'x');
    if (is_truncated) {
        SETUP(truncate("file", 0) == 0);
        CONTROL(pread(fd, &byte, 1, 0) == 0); /* who reads is told */
    }
    _exit(map[0] == 'x' ? 10 : 0);
}

static void truncation_of_a_mapped_file_kills(void)
{
    SETUP(file_write("file", "x") == 0);
    CONTROL(child_run(read_mapped, NULL) == 10);
    MUST(child_run(read_mapped, locked) == 128 + SIGBUS);
}

static void nofollow_is_for_the_last_part_alone(void)
{
    SETUP(mkdir("dir", 0755) == 0 && file_write("dir/file", "x") == 0);
    SETUP(symlink("dir", "link") == 0 && symlink("dir/file", "link-file") == 0);
    CONTROL(open("link-file", O_RDONLY | O_CLOEXEC) >= 0);
    MUST(open("link-file", O_RDONLY | O_NOFOLLOW | O_CLOEXEC) < 0 && errno == ELOOP);
    MUST(open("link/file", O_RDONLY | O_NOFOLLOW | O_CLOEXEC) >= 0);
    MUST(open("link-file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) < 0 && errno == EEXIST);
}

/* --- what would wait ------------------------------------------------------------------------ */

static void open_waiting(void *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    _exit(fd < 0);
}

static bool open_waits(char *path, int ms)
{
    pid_t pid = child_start(open_waiting, path);
    bool waits = !is_readable(pidfd_of(pid), ms);

    SETUP(kill(pid, SIGKILL) == 0 || errno == ESRCH);
    (void)child_end(pid);
    return waits;
}

static void nonblock_does_not_wait_at_a_fifo(void)
{
    struct stat st;
    int fd;

    SETUP(mkfifo("fifo", 0644) == 0);
    CONTROL(open_waits((char[]){"fifo"}, WAITS_MS));
    fd = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    MUST(fd >= 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode));
    (void)close(fd);
    MUST(open("fifo", O_WRONLY | O_NONBLOCK | O_CLOEXEC) < 0 && errno == ENXIO);
}

static int leased[2];

/* Its owner may, without any right. */
static void lease_and_keep(void *arg)
{
    int fd;

    (void)arg;
    become(uid_a);
    (void)signal(SIGIO, SIG_IGN);
    fd = open("/tmp/file", O_RDWR | O_CLOEXEC);
    SETUP(fd >= 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0 && write(leased[1], "", 1) == 1);
    (void)pause();
}

static void nonblock_does_not_wait_for_a_lease(void)
{
    char byte;

    SETUP(pipe2(leased, O_CLOEXEC) == 0 && file_write("/tmp/file", "x") == 0);
    SETUP(chown("/tmp/file", uid_a, uid_a) == 0);
    CONTROL(!open_waits((char[]){"/tmp/file"}, AT_ONCE_MS));
    (void)child_start(lease_and_keep, NULL);
    SETUP(read(leased[0], &byte, 1) == 1);
    MUST(open("/tmp/file", O_RDONLY | O_NONBLOCK | O_CLOEXEC) < 0 && errno == EWOULDBLOCK);
    CONTROL(open_waits((char[]){"/tmp/file"}, WAITS_MS));
}

static void a_path_descriptor_breaks_no_lease(void)
{
    char byte;

    SETUP(pipe2(leased, O_CLOEXEC) == 0 && file_write("/tmp/file", "x") == 0);
    SETUP(chown("/tmp/file", uid_a, uid_a) == 0);
    (void)child_start(lease_and_keep, NULL);
    SETUP(read(leased[0], &byte, 1) == 1);
    CONTROL(open("/tmp/file", O_RDONLY | O_NONBLOCK | O_CLOEXEC) < 0 && errno == EWOULDBLOCK);
    MUST(open("/tmp/file", O_PATH | O_CLOEXEC) >= 0);
}

/* --- memfd, pipes --------------------------------------------------------------------------- */

static void a_sealed_memfd_cannot_be_changed(void)
{
    int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *map;

    SETUP(fd >= 0 && write(fd, "x", 1) == 1);
    CONTROL(pwrite(fd, "y", 1, 0) == 1 && ftruncate(fd, 1) == 0);
    map = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CONTROL(map != MAP_FAILED);
    /* Who has it mapped could still write: then there is no seal. */
    MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0 && errno == EBUSY);
    SETUP(munmap(map, 1) == 0);
    SETUP(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0);
    MUST(pwrite(fd, "z", 1, 0) < 0 && errno == EPERM);
    MUST(ftruncate(fd, 0) < 0 && errno == EPERM);
    MUST(ftruncate(fd, 2) < 0 && errno == EPERM);
    MUST(mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) < 0 && errno == EPERM);
    MUST(fcntl(fd, F_GET_SEALS) == (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE));
}

static void seals_are_of_memfds_alone(void)
{
    int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int plain = memfd_create("plain", MFD_CLOEXEC);
    int open_to_all = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    CONTROL(fcntl(open_to_all, F_GET_SEALS) == 0);
    /* A file of a tmpfs answers, and says that it cannot be sealed: it has the last seal. */
    MUST(fcntl(fd, F_GET_SEALS) == F_SEAL_SEAL && fcntl(plain, F_GET_SEALS) == F_SEAL_SEAL);
    MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0 && errno == EPERM);
}

static void open_own_stdout(void *fd)
{
    SETUP(dup2(*(int *)fd, 1) == 1);
    become(uid_a);
    _exit(open("/proc/self/fd/1", O_WRONLY | O_CLOEXEC) >= 0 ? 0 : errno);
}

/* /dev/stdout. So pipes are given to the user. */
static void a_pipe_is_opened_again_by_its_owner_alone(void)
{
    int ends[2];

    SETUP(pipe2(ends, O_CLOEXEC) == 0);
    MUST(child_run(open_own_stdout, &ends[1]) == EACCES);
    SETUP(fchown(ends[1], uid_a, uid_a) == 0);
    CONTROL(child_run(open_own_stdout, &ends[1]) == 0);
}

static void descriptors_tell_what_they_are(void)
{
    int ends[2], pair[2], path = open("/tmp", O_PATH | O_CLOEXEC);
    struct statfs fs;

    SETUP(pipe2(ends, O_CLOEXEC) == 0);
    SETUP(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 && path >= 0);
    MUST(fstatfs(ends[0], &fs) == 0 && fs.f_type == PIPEFS_MAGIC);
    CONTROL(fstatfs(pair[0], &fs) == 0 && fs.f_type == SOCKFS_MAGIC);
    SETUP(mkfifo("fifo", 0600) == 0);
    CONTROL(fstatfs(open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC), &fs) == 0 &&
            fs.f_type == TMPFS_MAGIC);
    MUST((fcntl(path, F_GETFL) & O_PATH) != 0);
    MUST((fcntl(ends[0], F_GETFL) & O_ACCMODE) == O_RDONLY);
    MUST((fcntl(ends[1], F_GETFL) & O_ACCMODE) == O_WRONLY);
}

/* --- core dumps ----------------------------------------------------------------------------- */

static void crash(void *limit)
{
    const struct rlimit core = {*(rlim_t *)limit, *(rlim_t *)limit};

    SETUP(setrlimit(RLIMIT_CORE, &core) == 0);
    (void)raise(SIGSEGV);
}

static bool crash_is_dumped(rlim_t limit)
{
    pid_t pid = child_start(crash, &limit);
    int status;

    SETUP(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    return WCOREDUMP(status);
}

#define PATTERN "/proc/sys/kernel/core_pattern"

static void core_limit_1_starts_no_helper(void)
{
    char before[256] = "";
    bool with_0, with_1;

    NEED(host_is_disposable, "the core pattern is of the whole host, and not ours to change");
    SETUP(file_read(PATTERN, before, sizeof(before)));
    SETUP(file_write(PATTERN, "|/bin/dd of=/dev/null status=none") == 0);
    with_0 = crash_is_dumped(0);
    with_1 = crash_is_dumped(1);
    SETUP(file_write(PATTERN, before) == 0);
    CONTROL(with_0); /* a helper is started in spite of 0 */
    MUST(!with_1);
}

static void core_limit_1_makes_no_file(void)
{
    struct rlimit core;
    char pattern[256] = "";

    SETUP(file_read(PATTERN, pattern, sizeof(pattern)));
    NEED(pattern[0] != '|' && pattern[0] != '/',
         "the core pattern of this host is a pipe or a path");
    SETUP(getrlimit(RLIMIT_CORE, &core) == 0);
    NEED(core.rlim_max >= 64 << 20, "this process may dump no core at all");
    CONTROL(crash_is_dumped(64 << 20));
    MUST(!crash_is_dumped(1) && !crash_is_dumped(0));
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(any_close_of_the_file_drops_record_locks),
    BEHAVIOUR(open_file_locks_survive_it),
    BEHAVIOUR(a_reader_can_lock_out_the_writer),
    BEHAVIOUR(rename_leaves_the_old_file_to_who_has_it_open),
    BEHAVIOUR(truncation_of_a_mapped_file_kills),
    BEHAVIOUR(nofollow_is_for_the_last_part_alone),
    BEHAVIOUR(nonblock_does_not_wait_at_a_fifo),
    BEHAVIOUR(nonblock_does_not_wait_for_a_lease),
    BEHAVIOUR(a_path_descriptor_breaks_no_lease),
    BEHAVIOUR(a_sealed_memfd_cannot_be_changed),
    BEHAVIOUR(seals_are_of_memfds_alone),
    BEHAVIOUR(a_pipe_is_opened_again_by_its_owner_alone),
    BEHAVIOUR(descriptors_tell_what_they_are),
    BEHAVIOUR(core_limit_1_starts_no_helper),
    BEHAVIOUR(core_limit_1_makes_no_file),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "files", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      NULL);
}
