/* SPDX-License-Identifier: ISC */
/* facts.h - what several checks need to know of the host, asked once. */
#ifndef ATELIER_CTL_DOCTOR_FACTS_H
#define ATELIER_CTL_DOCTOR_FACTS_H

struct doctor_facts;

/* Nothing is asked yet. Out of memory ends the program. */
struct doctor_facts *facts_new(void);
void facts_free(struct doctor_facts *facts);

#endif
