/* SPDX-License-Identifier: ISC */
/* setup.h - all steps, one after the other. */
#ifndef ATELIER_CTL_SETUP_SETUP_H
#define ATELIER_CTL_SETUP_SETUP_H

#include "ctl/setup/step.h"

/* Look, and print the plan on s->out; refusals go to standard error. */
void setup_plan(struct setup *s);

/* Do it. Return: 0, or -1 and it was said where it stopped. */
int setup_apply(struct setup *s);

/* Take everything back that the record names. Return: 0, or -1 and it was said what stays. */
int setup_undo(struct setup *s);

/* Remove the registry, the homes and what was kept. Return: 0, or -1 and it was said. */
int setup_purge(struct setup *s);

#endif
