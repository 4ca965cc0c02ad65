/* SPDX-License-Identifier: ISC */
/* doctor.c - the checks that were asked for, one after the other. */
#include "ctl/doctor/doctor.h"

#include <string.h>

#include "ctl/doctor/checks.h"
#include "ctl/doctor/facts.h"
#include "ctl/doctor/probe.h"

#include "common/banned.h"

static bool is_meant(const struct doctor_check *check, const char *word)
{
    return strcmp(word, check->id) == 0 || strcmp(word, doctor_group_word(check->group)) == 0;
}

bool doctor_is_selected(const struct doctor_args *args, const struct doctor_check *check)
{
    if (args->is_short && !check->is_short)
        return false;
    for (size_t i = 0; i < args->selected_count; i++) {
        if (is_meant(check, args->selected[i]))
            return true;
    }
    return args->selected_count == 0;
}

bool doctor_is_known(const char *word)
{
    for (size_t i = 0; i < doctor_check_count; i++) {
        if (is_meant(&doctor_checks[i], word))
            return true;
    }
    return false;
}

void doctor_examine(const struct doctor_args *args, struct report *ret)
{
    struct doctor d = {.opt = args->opt, .is_short = args->is_short};
    struct report r;

    report_init(&r, doctor_check_count);
    r.count = 0;
    d.facts = facts_new();
    for (size_t i = 0; i < doctor_check_count; i++) {
        struct doctor_line *l = &r.lines[r.count];

        if (!doctor_is_selected(args, &doctor_checks[i]))
            continue;
        l->check = &doctor_checks[i];
        l->check->look(&d, l);
        r.count++;
    }
    probe_host_free(d.probe);
    facts_free(d.facts);
    *ret = r;
}
