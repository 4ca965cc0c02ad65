/* SPDX-License-Identifier: ISC */
/* probe_host.h - what is behind d->probe, for the files that share it. */
#ifndef ATELIER_CTL_DOCTOR_PROBE_HOST_H
#define ATELIER_CTL_DOCTOR_PROBE_HOST_H

#include "ctl/doctor/probe.h"

struct probe_host {
    bool is_tried, is_begun;
    int conn;        /* -1: none, or not any more */
    const char *why; /* static; NULL: nothing is wrong */
    struct probe_terms terms;
    uint32_t tags;
    struct probe_job *jobs;
    struct bait *bait;               /* bait.h; NULL: not laid yet */
    struct said *said[PROBE__COUNT]; /* said.h; NULL: not asked yet */
};

/* Made at the first call. */
struct probe_host *probe_host_of(struct doctor *d);

#endif
