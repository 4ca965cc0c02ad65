/* SPDX-License-Identifier: ISC */
/* complaint.h - why a text cannot be edited, and where. */
#ifndef ATELIER_CTL_SETUP_COMPLAINT_H
#define ATELIER_CTL_SETUP_COMPLAINT_H

#include <stddef.h>

struct complaint {
    size_t line; /* from 1; 0: the whole file */
    char what[256];
};

#endif
