/* SPDX-License-Identifier: ISC */
/* disk_image.c - which homes are images, mounted, and used by whom. */
#include "sessiond/monitor/disk_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/ids.h"
#include "common/image.h"
#include "common/loop.h"
#include "sessiond/monitor/clock.h"
#include "sessiond/monitor/home.h"
#include "sessiond/monitor/pidfd.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* So long somebody waits for a home. Whoever looks after it goes on, and the next one finds it. */
#define UP_WITHIN_MS 10000

enum home_state {
    HOME_OFF,
    HOME_GOING_UP,
    HOME_ON,
    HOME_GOING_DOWN,
};

struct disk_home {
    struct disk_home *next;
    struct images *images;
    uint32_t uid;
    char name[NAME_SIZE];
    enum home_state state;
    uint32_t runs, sessions; /* that use it; those that wait do not count */
    struct disk_user *waiting;
    struct event *timer; /* on: idle; going up or down: patience of who waits */
    pid_t pid;           /* of atelier-image */
    int pidfd;
    struct event *pid_event;
};

struct images {
    struct event_base *base;
    struct disk_home *homes;
    uint32_t idle_ms;
};

/* --- what the kernel says ------------------------------------------------------------------ */

static int image_stat(uint32_t uid, struct stat *ret_st)
{
    char path[sizeof(IMAGE_DIR) + 24];

    (void)snprintf(path, sizeof(path), IMAGE_DIR "/%u.img", uid);
    return lstat(path, ret_st) < 0 ? -errno : 0;
}

/* Is a directory about to become an image? */
static bool is_moving(uint32_t uid)
{
    char path[sizeof(IMAGE_DIR) + 24];

    (void)snprintf(path, sizeof(path), IMAGE_DIR "/%u.move", uid);
    return access(path, F_OK) == 0;
}

bool images_has(const struct images *images, uint32_t uid)
{
    struct stat st;

    (void)images;
    /* In this order: a move ends when the image is there. */
    return is_moving(uid) || image_stat(uid, &st) == 0;
}

int images_read(const struct images *images, uint32_t uid, dev_t dev, uint64_t *ret_bytes)
{
    struct stat st;
    int r = image_stat(uid, &st);

    (void)images;
    return r == 0 ? loop_has(dev, &st, ret_bytes) : r;
}

/* Is it mounted, here where we see it? */
static bool is_mounted(const struct disk_home *home)
{
    struct stat st;

    return fstatat(home_dir(), home->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           images_read(home->images, home->uid, st.st_dev, NULL) == 1;
}

/* --- list ---------------------------------------------------------------------------------- */

static void on_timer(evutil_socket_t fd, short what, void *arg);

static struct disk_home *home_find(const struct images *images, uint32_t uid)
{
    struct disk_home *home = images->homes;

    while (home && home->uid != uid)
        home = home->next;
    return home;
}

static struct disk_home *home_new(struct images *images, uint32_t uid, const char *name)
{
    struct disk_home *home = calloc(1, sizeof(*home));

    if (!home)
        return NULL;
    home->timer = evtimer_new(images->base, on_timer, home);
    if (!home->timer) {
        free(home);
        return NULL;
    }
    home->images = images;
    home->uid = uid;
    home->pidfd = -1;
    (void)str_copy(home->name, sizeof(home->name), name);
    home->next = images->homes;
    images->homes = home;
    return home;
}

static void program_forget(struct disk_home *home)
{
    if (home->pid_event)
        event_free(home->pid_event);
    home->pid_event = NULL;
    if (home->pidfd >= 0)
        (void)close(home->pidfd);
    home->pidfd = -1;
}

static void home_free(struct disk_home *home)
{
    for (struct disk_home **p = &home->images->homes; *p; p = &(*p)->next) {
        if (*p == home) {
            *p = home->next;
            break;
        }
    }
    program_forget(home);
    event_free(home->timer);
    free(home);
}

static void timer_set(struct disk_home *home, int64_t ms)
{
    struct timeval tv = ms_timeval(ms);

    if (event_add(home->timer, &tv) < 0)
        log_warning("no memory to look after a home uid=%u", home->uid);
}

static void used_by(struct disk_home *home, const struct disk_user *user, int by)
{
    uint32_t *count = user->is_run ? &home->runs : &home->sessions;

    *count = (uint32_t)((int64_t)*count + by);
    if (home->state != HOME_ON)
        return;
    if (home->runs + home->sessions == 0)
        timer_set(home, home->images->idle_ms);
    else
        (void)event_del(home->timer);
}

/* --- the program --------------------------------------------------------------------------- */

/* A group of its own, so that it ends together with what it has started.
 * @size: NULL: no sizes are given. Return: pid or a negative errno. */
static int program_start(const struct disk_home *home, const char *verb,
                         const struct plan_size *size)
{
    const char *const envp[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    char uid[12], bytes[24], files[24];
    const char *argv[] = {IMAGE_PROGRAM, verb, uid, home->name, NULL, NULL, NULL};
    posix_spawnattr_t attr;
    pid_t pid;
    int r;

    (void)snprintf(uid, sizeof(uid), "%u", home->uid);
    if (size) {
        (void)snprintf(bytes, sizeof(bytes), "%" PRIu64, size->bytes);
        (void)snprintf(files, sizeof(files), "%" PRIu64, size->inodes);
        argv[4] = bytes;
        argv[5] = files;
    }
    r = posix_spawnattr_init(&attr);
    if (r != 0)
        return -r;
    r = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    if (r == 0)
        r = posix_spawn(&pid, argv[0], NULL, &attr, (char *const *)(uintptr_t)argv,
                        (char *const *)(uintptr_t)envp);
    (void)posix_spawnattr_destroy(&attr);
    return r != 0 ? -r : pid;
}

static void on_program(evutil_socket_t fd, short what, void *arg);

static int program_watch(struct disk_home *home, const char *verb, const struct plan_size *size)
{
    int pid = program_start(home, verb, size), r;

    if (pid < 0)
        return pid;
    home->pid = pid;
    home->pidfd = pidfd_of(pid);
    if (home->pidfd >= 0)
        home->pid_event = event_new(home->images->base, home->pidfd, EV_READ, on_program, home);
    if (home->pid_event && event_add(home->pid_event, NULL) == 0)
        return 0;
    /* Nobody would hear of its end, and sessiond waits for nobody: it ends now, and all that it has
     * started. */
    r = home->pidfd < 0 ? home->pidfd : -ENOMEM;
    (void)kill(-pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    program_forget(home);
    return r;
}

/* --- waiting ------------------------------------------------------------------------------- */

/* Each of them may go when it is told. A home that is a directory is one, for whom the limits are
 * not required. */
static void answer_all(struct disk_home *home, int error, const char *what)
{
    struct disk_user *first = home->waiting;

    home->waiting = NULL;
    /* Those are on no list any more: mark them all before the first is told. */
    for (struct disk_user *u = first; u; u = u->next) {
        u->is_waiting = false;
        if (error == 0)
            used_by(home, u, 1);
        else
            u->home = NULL;
    }
    while (first) {
        struct disk_user *u = first;

        first = u->next;
        u->next = NULL;
        u->fn(u->arg, error == EEXIST && !u->is_strict ? 0 : error, what);
    }
    if (home->state == HOME_OFF && !home->waiting && home->runs + home->sessions == 0)
        home_free(home);
}

static void up_begin(struct disk_home *home)
{
    int r;

    home->state = HOME_GOING_UP;
    timer_set(home, UP_WITHIN_MS);
    r = program_watch(home, home->waiting->is_open_only ? "open" : "up",
                      home->waiting->is_open_only ? NULL : home->waiting->size);
    if (r < 0) {
        (void)event_del(home->timer);
        home->state = HOME_OFF;
        answer_all(home, -r, IMAGE_PROGRAM);
    }
}

static void up_end(struct disk_home *home, int code)
{
    (void)event_del(home->timer);
    home->state = HOME_OFF;
    if (code == IMAGE_DONE && is_mounted(home)) {
        home->state = HOME_ON;
        if (!home->waiting)
            timer_set(home, home->images->idle_ms);
        answer_all(home, 0, "");
        return;
    }
    if (code == IMAGE_DIRECTORY)
        answer_all(home, EEXIST, "the home is a directory, which nothing holds to the limits");
    else
        answer_all(home, EIO,
                   code == IMAGE_DONE ? "the image was mounted, but not to be seen by sessiond"
                                      : "the image of the home: the log says what is wrong");
}

static void down_end(struct disk_home *home, int code)
{
    home->state = code == IMAGE_DONE ? HOME_OFF : HOME_ON;
    if (home->waiting && home->state == HOME_OFF)
        up_begin(home);
    else if (home->waiting)
        answer_all(home, 0, "");
    else if (home->state == HOME_OFF)
        home_free(home);
    else /* somebody on the host is in it */
        timer_set(home, home->images->idle_ms);
}

static void on_program(evutil_socket_t fd, short what, void *arg)
{
    struct disk_home *home = arg;
    int status, code = IMAGE_FAILED;

    (void)fd;
    (void)what;
    while (waitpid(home->pid, &status, 0) < 0) {
        if (errno != EINTR) {
            status = -1;
            break;
        }
    }
    program_forget(home);
    if (status != -1 && WIFEXITED(status))
        code = WEXITSTATUS(status);
    if (home->state == HOME_GOING_UP)
        up_end(home, code);
    else
        down_end(home, code);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct disk_home *home = arg;

    (void)fd;
    (void)what;
    if (home->waiting) {
        answer_all(home, ETIMEDOUT, "the home is being looked after; try again later");
        return;
    }
    if (home->state != HOME_ON || home->runs + home->sessions > 0)
        return;
    home->state = HOME_GOING_DOWN;
    if (program_watch(home, "down", NULL) < 0) {
        home->state = HOME_ON;
        timer_set(home, home->images->idle_ms);
    }
}

/* --- users --------------------------------------------------------------------------------- */

void images_require(struct images *images, struct disk_user *user)
{
    struct disk_home *home = home_find(images, user->uid);

    if (!home)
        home = home_new(images, user->uid, user->name);
    if (!home) {
        user->fn(user->arg, ENOMEM, "");
        return;
    }
    user->home = home;
    /* Somebody may have unmounted it. */
    if (home->state == HOME_ON && !is_mounted(home))
        home->state = HOME_OFF;
    if (home->state == HOME_ON) {
        used_by(home, user, 1);
        user->fn(user->arg, 0, "");
        return;
    }
    user->is_waiting = true;
    user->next = home->waiting;
    home->waiting = user;
    if (home->state == HOME_OFF)
        up_begin(home);
    else if (!evtimer_pending(home->timer, NULL))
        timer_set(home, UP_WITHIN_MS);
}

void images_adopt(struct images *images, struct disk_user *user)
{
    struct disk_home *home = home_find(images, user->uid);

    /* If it is mounted nowhere but in the session, the next one mounts the same device. */
    if (!home)
        home = home_new(images, user->uid, user->name);
    if (!home)
        return;
    user->home = home;
    used_by(home, user, 1);
}

void images_release(struct images *images, struct disk_user *user)
{
    struct disk_home *home = user->home;

    (void)images;
    user->home = NULL;
    if (!home)
        return;
    if (!user->is_waiting) {
        used_by(home, user, -1);
        if (home->state == HOME_OFF && !home->waiting && home->runs + home->sessions == 0)
            home_free(home);
        return;
    }
    user->is_waiting = false;
    for (struct disk_user **p = &home->waiting; *p; p = &(*p)->next) {
        if (*p == user) {
            *p = user->next;
            return;
        }
    }
}

/* --- all ----------------------------------------------------------------------------------- */

/* What an earlier sessiond has left mounted. The owner of a home is the user. */
static int mounted_find(struct images *images)
{
    cleanup_close int fd = openat(home_dir(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (!dir)
        return -errno;
    (void)fd_take(&fd);
    for (struct dirent *e; (e = readdir(dir));) {
        struct disk_home *home;
        struct stat st;

        if (!name_is_valid(e->d_name) ||
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !loop_is(st.st_dev) ||
            !id_is_allocatable(st.st_uid) || images_read(images, st.st_uid, st.st_dev, NULL) != 1)
            continue;
        home = home_new(images, st.st_uid, e->d_name);
        if (!home)
            break;
        home->state = HOME_ON;
        timer_set(home, images->idle_ms);
    }
    (void)closedir(dir);
    return 0;
}

int images_new(struct event_base *base, struct images **ret_images)
{
    struct images *images = calloc(1, sizeof(*images));
    int r;

    if (!images)
        return -ENOMEM;
    images->base = base;
    images->idle_ms = POLICY_DISK_IDLE_MS;
    r = mounted_find(images);
    if (r < 0) {
        free(images);
        return r;
    }
    *ret_images = images;
    return 0;
}

void images_policy(struct images *images, const struct policy_disk *policy)
{
    images->idle_ms = policy->idle_ms;
    for (struct disk_home *home = images->homes; home; home = home->next) {
        if (home->state == HOME_ON && home->runs + home->sessions == 0)
            timer_set(home, images->idle_ms);
    }
}

void images_free(struct images *images)
{
    while (images->homes) {
        struct disk_home *home = images->homes;

        if (home->state == HOME_ON && home->sessions == 0)
            (void)program_start(home, "down", NULL);
        home_free(home);
    }
    free(images);
}
