/* SPDX-License-Identifier: ISC */
/*
 * sweep.h - what doctors that were killed have left.
 *
 * A doctor that is killed has its keeper, who takes the bait away (bait.c); sessiond ends its runs
 * and sessions. If the keeper is killed, too, this is left: files and sockets with a name of ours,
 * objects of System V and a queue, and whatever the same uid had begun unconfined. The next doctor
 * sweeps, and atelier-doctor.service whenever sessiond starts. While a keeper is there nothing is
 * a leftover.
 */
#ifndef ATELIER_CTL_DOCTOR_SWEEP_H
#define ATELIER_CTL_DOCTOR_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SWEEP_PREFIX "atelier-doctor."
#define SWEEP_QUEUE  "/atelier-doctor"
#define SWEEP_KEEPER "atelier-bait" /* its name, as ps(1) shows it; it is root's */
#define SWEEP_PLACES 8u

/* Where files are planted. The first can be read by everybody on the host, the others by root. */
extern const char *const sweep_places[SWEEP_PLACES];

/* Remove files and sockets of root's with our prefix; @out, if not NULL, gets a line for each. */
void sweep_files(FILE *out);

/* Of the things that have our key or name only root's are a keeper's, and removed. Return: is there
 * one of another? */
bool sweep_ipc(FILE *out);

/**
 * sweep_all() - Everything, unless a keeper is at work
 * @out: Gets a line for each thing that was removed, or one that says why nothing was
 *
 * Return: 0 or a negative errno: /proc cannot be looked at, and no process was ended.
 */
int sweep_all(FILE *out);

#endif
