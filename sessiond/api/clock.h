/* SPDX-License-Identifier: ISC */
/* clock.h - the two clocks of sessiond-api: one for distances, one for the audit. */
#ifndef ATELIER_API_CLOCK_H
#define ATELIER_API_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Milliseconds on a clock that nobody sets: for limits and for t_ms. */
static inline int64_t clock_mono_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* Cannot fail for this clock. */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Unix microseconds: for the audit. */
static inline int64_t clock_unix_us(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

#endif
