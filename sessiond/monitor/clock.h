/* SPDX-License-Identifier: ISC */
/* clock.h - monotonic time, and the time of day. */
#ifndef ATELIER_CLOCK_H
#define ATELIER_CLOCK_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

/* Microseconds of CLOCK_MONOTONIC, never 0. */
static inline int64_t clock_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000 + 1;
}

static inline int64_t clock_ms(void)
{
    return clock_us() / 1000 + 1;
}

/* Microseconds since 1970, by the host's clock. */
static inline int64_t clock_wall_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static inline struct timeval ms_timeval(int64_t ms)
{
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};
}

#endif
