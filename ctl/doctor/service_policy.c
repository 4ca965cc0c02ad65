/* SPDX-License-Identifier: ISC */
/* service_policy.c - the policy that is in force, beside the files and beside what is shipped. */
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/doctor/checks.h"
#include "ctl/say.h"
#include "ctl/setup/file.h"
#include "ctl/setup/program.h"

#include "common/banned.h"

#define SESSIOND  ATELIER_PROGRAMS_DIR "/sessiond"
#define IN_FORCE  ATELIER_RUN_DIR "/policy"
#define TIMEOUT_S 30

/* Return: 0, or -1 and it was said, with @bad as the verdict where sessiond refuses. */
static int sessiond_ask(const char *const *argv, enum doctor_verdict bad, struct text *ret,
                        struct doctor_line *l)
{
    int r = program_run(argv, TIMEOUT_S, ret);

    if (r < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, SESSIOND ": %s", strerror(-r));
    } else if (r != 0) {
        cleanup_free char *why = program_why(r, ret);

        doctor_say(l, bad, "%s", why);
    }
    return r == 0 ? 0 : -1;
}

void check_policy_files(struct doctor *d, struct doctor_line *l)
{
    cleanup_text struct text output = {0};

    (void)d;
    if (sessiond_ask(ARGV(SESSIOND, "--check-policy"), DOCTOR_FAIL, &output, l) == 0)
        doctor_say(l, DOCTOR_PASS, "the files are root's, and right");
}

/* The first line in which two texts differ, from 1. */
static size_t difference_find(const struct text *a, const struct text *b, struct line *ret_a,
                              struct line *ret_b)
{
    struct line la = {0}, lb = {0};
    bool has_a, has_b;

    do {
        has_a = line_next(a, &la);
        has_b = line_next(b, &lb);
    } while (has_a && has_b && line_is_same(&la, &lb));
    *ret_a = has_a ? la : (struct line){.start = ""};
    *ret_b = has_b ? lb : (struct line){.start = ""};
    return la.number;
}

/* Without the blanks that the line begins with. */
static void line_trim(struct line *line)
{
    while (line->size > 0 && is_blank(line->start[0])) {
        line->start++;
        line->size--;
    }
}

void check_policy_force(struct doctor *d, struct doctor_line *l)
{
    cleanup_text struct text files = {0};
    cleanup_file struct file force = {0};
    struct line a, b;
    int r = file_read(IN_FORCE, &force);

    (void)d;
    if (r < 0 || !force.text.bytes) {
        doctor_say(l, DOCTOR_UNKNOWN, IN_FORCE ": %s", strerror(r < 0 ? -r : ENOENT));
        return;
    }
    if (force.uid != 0 || force.mode & 022u)
        doctor_say(l, DOCTOR_FAIL, IN_FORCE " is not root's alone to write");
    if (sessiond_ask(ARGV(SESSIOND, "--show-policy"), DOCTOR_UNKNOWN, &files, l) < 0)
        return;
    if (text_is_same(&force.text, &files)) {
        doctor_say(l, DOCTOR_PASS, "what sessiond goes by is what the files say");
        return;
    }
    (void)difference_find(&force.text, &files, &a, &b);
    line_trim(&a);
    line_trim(&b);
    doctor_say(l, DOCTOR_FAIL, "in force is \"%.*s\", the files say \"%.*s\"", (int)a.size, a.start,
               (int)b.size, b.start);
}

void check_policy_loose(struct doctor *d, struct doctor_line *l)
{
    cleanup_text struct text output = {0};
    struct line line = {0};

    (void)d;
    if (sessiond_ask(ARGV(SESSIOND, "--loosened-policy", IN_FORCE), DOCTOR_UNKNOWN, &output, l) < 0)
        return;
    while (line_next(&output, &line))
        doctor_say(l, DOCTOR_WARN, "%.*s", (int)line.size, line.start);
    doctor_say(l, DOCTOR_PASS, "nothing in force is more than what is shipped");
}
