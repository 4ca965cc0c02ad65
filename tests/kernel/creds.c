/* SPDX-License-Identifier: ISC */
/* creds.c - what takes rights away for good, and which acts disarm a death signal. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

#define AT_ONCE_MS 2000
#define NEVER_MS   200

/* --- no_new_privs, nosuid, the bounding set -------------------------------------------------- */

static void no_new_privs_stops_set_uid(void)
{
    self_copy("/tmp/set-uid", 0, uid_b, 04755);
    CONTROL(act_as(uid_a, false, "/tmp/set-uid", ACT_IDS, NULL) == 10);
    MUST(act_as(uid_a, true, "/tmp/set-uid", ACT_IDS, NULL) == 0);
}

static void no_new_privs_stops_set_gid(void)
{
    self_copy("/tmp/set-gid", uid_b, 0, 02755);
    CONTROL(act_as(uid_a, false, "/tmp/set-gid", ACT_IDS, NULL) == 20);
    MUST(act_as(uid_a, true, "/tmp/set-gid", ACT_IDS, NULL) == 0);
}

/* Source: include/uapi/linux/capability.h, revision 2; the numbers are little-endian. */
static void file_caps_set(const char *path)
{
    struct vfs_cap_data caps = {
        .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
        .data = {{.permitted = 1u << CAP_NET_RAW}},
    };

    NEED(setxattr(path, "security.capability", &caps, sizeof(caps), 0) == 0,
         "no capabilities on a file of tmpfs");
}

static void no_new_privs_stops_file_capabilities(void)
{
    self_copy("/tmp/capable", 0, 0, 0755);
    file_caps_set("/tmp/capable");
    CONTROL(act_as(uid_a, false, "/tmp/capable", ACT_CAPS, NULL) == 10);
    MUST(act_as(uid_a, true, "/tmp/capable", ACT_CAPS, NULL) == 0);
}

static void no_new_privs_cannot_be_undone(void)
{
    SETUP(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CONTROL(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) < 0 && errno == EINVAL);
}

static void nosuid_mount_stops_set_uid(void)
{
    self_copy("/tmp/set-uid", 0, uid_b, 04755);
    CONTROL(act_as(uid_a, false, "/tmp/set-uid", ACT_IDS, NULL) == 10);
    SETUP(mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND | MS_NOSUID, NULL) == 0);
    MUST(act_as(uid_a, false, "/tmp/set-uid", ACT_IDS, NULL) == 0);
}

static void nodev_mount_stops_devices(void)
{
    SETUP(mknod("/tmp/null", S_IFCHR | 0666, 1 << 8 | 3) == 0);
    CONTROL(open("/tmp/null", O_RDONLY | O_CLOEXEC) >= 0);
    SETUP(mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND | MS_NODEV, NULL) == 0);
    MUST(open("/tmp/null", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
}

static void caps_empty(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};

    SETUP(syscall(SYS_capset, &header, none) == 0);
}

static void exec_with_bounding_set(void *is_empty)
{
    char *argv[] = {(char[]){"/tmp/plain"}, (char[]){ACT_CAPS}, NULL};

    if (is_empty)
        for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
            SETUP(prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0);
    caps_empty();
    (void)execv(argv[0], argv);
    _exit(127);
}

/* uid 0 gets all of them back by exec, unless the bounding set has none. */
static void uid_0_without_bounding_set_gets_no_capability(void)
{
    self_copy("/tmp/plain", 0, 0, 0755);
    CONTROL(child_run(exec_with_bounding_set, NULL) == 10);
    MUST(child_run(exec_with_bounding_set, caps_empty) == 0);
}

static void change_uid_and_look(void *arg)
{
    (void)arg;
    CONTROL(status_number(getpid(), "CapEff", 16) > 0);
    become(uid_a);
    MUST(status_number(getpid(), "CapEff", 16) == 0);
    MUST(status_number(getpid(), "CapPrm", 16) == 0);
}

static void leaving_uid_0_empties_capabilities(void)
{
    SETUP(child_run(change_uid_and_look, NULL) == 0);
}

/* --- the death signal ----------------------------------------------------------------------- */

static int death_signal(void)
{
    int signum = -1;

    SETUP(prctl(PR_GET_PDEATHSIG, &signum, 0, 0, 0) == 0);
    return signum;
}

static void change_uid_armed(void *arg)
{
    (void)arg;
    SETUP(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    CONTROL(death_signal() == SIGKILL);
    become(uid_a);
    MUST(death_signal() == 0);
}

static void a_change_of_uid_disarms_the_death_signal(void)
{
    SETUP(child_run(change_uid_armed, NULL) == 0);
}

static void give_up_armed(void *arg)
{
    (void)arg;
    SETUP(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    CONTROL(status_number(getpid(), "CapEff", 16) > 0);
    SETUP(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        SETUP(prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0);
    caps_empty();
    MUST(death_signal() == SIGKILL && status_number(getpid(), "CapEff", 16) == 0);
}

/* So an init may empty its capabilities, if it stays uid 0. */
static void giving_up_capabilities_does_not(void)
{
    SETUP(child_run(give_up_armed, NULL) == 0);
}

static void look_unarmed(void *arg)
{
    (void)arg;
    MUST(death_signal() == 0);
}

static void a_fork_has_no_death_signal_of_its_own(void)
{
    SETUP(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    SETUP(child_run(look_unarmed, NULL) == 0);
    CONTROL(death_signal() == SIGKILL); /* and the one who forked keeps theirs */
}

static void wait_for_ever(void *arg)
{
    (void)arg;
    for (;;)
        (void)pause();
}

/* Three in a row, each armed or not; the write end of a pipe is open until the last is gone. */
struct row {
    int alive, parent_dies;
    bool is_armed, changes_uid;
};

static void row_last(void *arg)
{
    const struct row *row = arg;

    if (row->is_armed)
        SETUP(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    if (row->changes_uid)
        become(uid_a);
    SETUP(write(row->parent_dies, "", 1) == 1);
    wait_for_ever(NULL);
}

/* Returns whether the last of the row has gone when the one before it was killed. */
static bool row_goes(bool is_armed, bool changes_uid)
{
    struct row row = {.is_armed = is_armed, .changes_uid = changes_uid};
    int alive[2], ready[2];
    pid_t pid;
    char byte;

    SETUP(pipe2(alive, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0);
    row.alive = alive[1];
    row.parent_dies = ready[1];
    pid = fork();
    SETUP(pid >= 0);
    if (pid == 0) {
        (void)child_start(row_last, &row);
        wait_for_ever(NULL);
    }
    (void)close(alive[1]);
    SETUP(read(ready[0], &byte, 1) == 1);
    SETUP(kill(pid, SIGKILL) == 0 && child_end(pid) == 128 + SIGKILL);
    return is_readable(alive[0], is_armed && !changes_uid ? AT_ONCE_MS : NEVER_MS);
}

static void the_death_signal_kills_when_the_parent_is_killed(void)
{
    CONTROL(!row_goes(false, false));
    MUST(row_goes(true, false));
}

/* What `unshare --kill-child` in front of a program that changes its uid gets wrong. */
static void an_armed_program_that_changed_its_uid_lives_on(void)
{
    CONTROL(row_goes(true, false));
    MUST(!row_goes(true, true));
}

static int ready_of_thread[2];

static void *fork_in_thread(void *ret_pidfd)
{
    struct row row = {.is_armed = true, .parent_dies = ready_of_thread[1]};
    char byte;

    *(int *)ret_pidfd = pidfd_of(child_start(row_last, &row));
    SETUP(read(ready_of_thread[0], &byte, 1) == 1);
    return NULL;
}

/* So who forks what has to die with it has one thread. */
static void the_death_signal_follows_the_thread_that_forked(void)
{
    pthread_t thread;
    int of_this = -1, of_other = -1;

    SETUP(pipe2(ready_of_thread, O_CLOEXEC) == 0);
    (void)fork_in_thread(&of_this);
    SETUP(pthread_create(&thread, NULL, fork_in_thread, &of_other) == 0);
    SETUP(pthread_join(thread, NULL) == 0);
    MUST(is_readable(of_other, AT_ONCE_MS));
    CONTROL(!is_readable(of_this, NEVER_MS)); /* the process lives, and so does its first thread */
}

/* --- threads -------------------------------------------------------------------------------- */

static void *idle(void *arg)
{
    wait_for_ever(arg);
    return NULL;
}

/* How join.c finds out that it is alone. */
static void unshare_of_memory_fails_with_threads(void)
{
    pthread_t thread;

    CONTROL(unshare(CLONE_VM | CLONE_FS) == 0);
    SETUP(pthread_create(&thread, NULL, idle, NULL) == 0);
    MUST(unshare(CLONE_VM | CLONE_FS) < 0 && errno == EINVAL);
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(no_new_privs_stops_set_uid),
    BEHAVIOUR(no_new_privs_stops_set_gid),
    BEHAVIOUR(no_new_privs_stops_file_capabilities),
    BEHAVIOUR(no_new_privs_cannot_be_undone),
    BEHAVIOUR(nosuid_mount_stops_set_uid),
    BEHAVIOUR(nodev_mount_stops_devices),
    BEHAVIOUR(uid_0_without_bounding_set_gets_no_capability),
    BEHAVIOUR(leaving_uid_0_empties_capabilities),
    BEHAVIOUR(a_change_of_uid_disarms_the_death_signal),
    BEHAVIOUR(giving_up_capabilities_does_not),
    BEHAVIOUR(a_fork_has_no_death_signal_of_its_own),
    BEHAVIOUR(the_death_signal_kills_when_the_parent_is_killed),
    BEHAVIOUR(an_armed_program_that_changed_its_uid_lives_on),
    BEHAVIOUR(the_death_signal_follows_the_thread_that_forked),
    BEHAVIOUR(unshare_of_memory_fails_with_threads),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "creds", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      NULL);
}
