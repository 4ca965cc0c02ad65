/* SPDX-License-Identifier: ISC */
/*
 * traces.h - what setup does to a host, looked for where there is no record of it.
 *
 * A record that was lost must not make --undo say that there was nothing, and must not let --purge
 * remove the data of a host that still lets participants in.
 */
#ifndef ATELIER_CTL_SETUP_TRACES_H
#define ATELIER_CTL_SETUP_TRACES_H

#include <stddef.h>

/**
 * traces_say() - Say what of ours is in force on this host
 *
 * What cannot be looked at counts as a trace.
 *
 * Return: how many there are.
 */
size_t traces_say(void);

/* Whether homes and registry are where a purge would look for them. Return: 0, or -1 and it was
 * said. */
int purge_check(void);

#endif
