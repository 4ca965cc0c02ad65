/* SPDX-License-Identifier: ISC */
/*
 * sweep.c - what doctors that were killed have left.
 *
 * First it is seen that there is no keeper, then processes are ended, which might have made the
 * rest, then files and objects. A keeper that begins meanwhile sweeps itself before it lays out
 * anything: at worst its bait is away, which the checks see (they reach nothing unconfined).
 */
#include "ctl/doctor/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/pidfd.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "ctl/doctor/bait.h"
#include "ctl/setup/processes.h"

#include "common/banned.h"

const char *const sweep_places[SWEEP_PLACES] = {"/run",     "/etc", "/root",    "/home",
                                                "/var/lib", "/tmp", "/dev/shm", "/var/tmp"};

/* --- files -------------------------------------------------------------------------------------
 */

static void place_sweep(const char *place, FILE *out)
{
    int fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat st;

        if (strncmp(e->d_name, SWEEP_PREFIX, strlen(SWEEP_PREFIX)) == 0 &&
            fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == 0 &&
            (S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode)) && unlinkat(fd, e->d_name, 0) == 0 && out)
            (void)fprintf(out, "removed %s/%s\n", place, e->d_name);
    }
    (void)closedir(dir);
}

void sweep_files(FILE *out)
{
    for (size_t i = 0; i < SWEEP_PLACES; i++)
        place_sweep(sweep_places[i], out);
}

/* --- System V, POSIX queue ----------------------------------------------------------------------
 */

/* Source: semctl(2): the caller has to define it. */
union semun {
    int val;
    struct semid_ds *buf;
};

static void removed_say(FILE *out, const char *what, int r)
{
    if (r == 0 && out)
        (void)fprintf(out, "removed %s\n", what);
}

bool sweep_ipc(FILE *out)
{
    struct msqid_ds msg;
    struct semid_ds sem;
    struct shmid_ds shm;
    struct stat st;
    bool is_others = false;
    int id = shmget(BAIT_SHM_KEY, 0, 0);

    if (id >= 0 && (shmctl(id, IPC_STAT, &shm) < 0 || shm.shm_perm.cuid != 0))
        is_others = true;
    else if (id >= 0)
        removed_say(out, "shared memory", shmctl(id, IPC_RMID, NULL));
    id = semget(BAIT_SHM_KEY, 0, 0);
    if (id >= 0 &&
        (semctl(id, 0, IPC_STAT, (union semun){.buf = &sem}) < 0 || sem.sem_perm.cuid != 0))
        is_others = true;
    else if (id >= 0)
        removed_say(out, "semaphores", semctl(id, 0, IPC_RMID));
    id = msgget(BAIT_SHM_KEY, 0);
    if (id >= 0 && (msgctl(id, IPC_STAT, &msg) < 0 || msg.msg_perm.cuid != 0))
        is_others = true;
    else if (id >= 0)
        removed_say(out, "a message queue", msgctl(id, IPC_RMID, NULL));
    id = mq_open(SWEEP_QUEUE, O_RDONLY | O_CLOEXEC);
    if (id >= 0 && (fstat(id, &st) < 0 || st.st_uid != 0))
        is_others = true;
    else if (id >= 0)
        removed_say(out, "the queue " SWEEP_QUEUE, mq_unlink(SWEEP_QUEUE));
    if (id >= 0)
        (void)mq_close(id);
    return is_others;
}

/* --- processes ---------------------------------------------------------------------------------
 */

static void on_roots(void *arg, const struct process *p)
{
    bool *has_keeper = arg;

    *has_keeper = *has_keeper || strcmp(p->name, SWEEP_KEEPER) == 0;
}

/* What is in a run or session is sessiond's to end. */
static void on_doctors(void *arg, const struct process *p)
{
    cleanup_close int pidfd = pidfd_open(p->pid, 0);
    struct process still;

    /* Looked at again, now that the number cannot become another one's. */
    if (pidfd >= 0 && process_look("/proc", p->pid, ID_DOCTOR_MIN, ID_DOCTOR_MAX, &still) > 0 &&
        process_is_outside(p->pid) > 0 && pidfd_send_signal(pidfd, SIGKILL, NULL, 0) == 0)
        (void)fprintf(arg, "ended %d (uid %u, %s)\n", (int)still.pid, still.uid, still.name);
}

int sweep_all(FILE *out)
{
    bool has_keeper = false;
    int r = processes_each("/proc", 0, 0, on_roots, &has_keeper);

    if (r < 0)
        return r;
    if (has_keeper) {
        (void)fprintf(out, "a doctor is at work: nothing is removed\n");
        return 0;
    }
    r = processes_each("/proc", ID_DOCTOR_MIN, ID_DOCTOR_MAX, on_doctors, out);
    sweep_files(out);
    (void)sweep_ipc(out);
    return r < 0 ? r : 0;
}
