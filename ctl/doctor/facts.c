/* SPDX-License-Identifier: ISC */
/* facts.c - answers that are kept for the length of a report. */
#include "ctl/doctor/facts.h"

#include <stdlib.h>

#include "ctl/say.h"

#include "common/banned.h"

struct doctor_facts {
    int nothing_yet;
};

struct doctor_facts *facts_new(void)
{
    struct doctor_facts *facts = calloc(1, sizeof(*facts));

    if (!facts)
        say_no_memory();
    return facts;
}

void facts_free(struct doctor_facts *facts)
{
    free(facts);
}
