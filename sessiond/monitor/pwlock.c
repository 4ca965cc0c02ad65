/* SPDX-License-Identifier: ISC */
/* pwlock.c - the host's password lock, held for the api while it allocates an id. */
#include "sessiond/monitor/pwlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "sessiond/monitor/clock.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

#define LOCK_PATH "/etc/.pwd.lock" /* lckpwdf(3), glibc shadow/lckpwdf.c */
#define RETRY_MS  20

struct pwlock {
    struct event *timer; /* retry while waiting, limit while held */
    pwlock_fn fn;
    void *arg;
    int fd; /* open while waiting or held; closing it is what unlocks */
    bool held;
    int64_t give_up_ms;
    int64_t taken_ms;
    int64_t rest_until_ms; /* others get as long as we had it */
};

static void again_in(struct pwlock *lock, int64_t ms)
{
    struct timeval tv = ms_timeval(ms);

    (void)event_add(lock->timer, &tv);
}

static void try_once(struct pwlock *lock)
{
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int64_t rest_ms = lock->rest_until_ms - clock_ms();

    if (rest_ms > 0) {
        again_in(lock, rest_ms);
        return;
    }
    if (fcntl(lock->fd, F_SETLK, &fl) == 0) {
        lock->held = true;
        lock->taken_ms = clock_ms();
        again_in(lock, PWLOCK_HOLD_MS);
        lock->fn(lock->arg, PWLOCK_TAKEN);
    } else if ((errno == EAGAIN || errno == EACCES) && clock_ms() < lock->give_up_ms) {
        again_in(lock, RETRY_MS);
    } else {
        pwlock_drop(lock);
        lock->fn(lock->arg, PWLOCK_BUSY);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct pwlock *lock = arg;

    (void)fd;
    (void)what;
    if (!lock->held) {
        try_once(lock);
        return;
    }
    pwlock_drop(lock);
    log_warning("the password lock was held longer than %d ms and is given back", PWLOCK_HOLD_MS);
    lock->fn(lock->arg, PWLOCK_LOST);
}

struct pwlock *pwlock_new(struct event_base *base, pwlock_fn fn, void *arg)
{
    struct pwlock *lock = calloc(1, sizeof(*lock));

    if (!lock)
        return NULL;
    lock->fd = -1;
    lock->fn = fn;
    lock->arg = arg;
    lock->timer = evtimer_new(base, on_timer, lock);
    if (!lock->timer) {
        free(lock);
        return NULL;
    }
    return lock;
}

void pwlock_free(struct pwlock *lock)
{
    if (!lock)
        return;
    pwlock_drop(lock);
    event_free(lock->timer);
    free(lock);
}

void pwlock_take(struct pwlock *lock)
{
    pwlock_drop(lock);
    lock->fd = open(LOCK_PATH, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock->fd < 0) {
        log_error("cannot open %s errno=%d", LOCK_PATH, errno);
        lock->fn(lock->arg, PWLOCK_BUSY);
        return;
    }
    lock->give_up_ms = clock_ms() + PWLOCK_WAIT_MS;
    try_once(lock);
}

void pwlock_drop(struct pwlock *lock)
{
    int64_t now_ms = clock_ms();

    (void)event_del(lock->timer);
    if (lock->held)
        lock->rest_until_ms = now_ms + (now_ms - lock->taken_ms);
    if (lock->fd >= 0)
        (void)close(lock->fd);
    lock->fd = -1;
    lock->held = false;
}
