/* SPDX-License-Identifier: ISC */
/* judge.c - from lines of attacks to a verdict. */
#include "ctl/doctor/judge.h"

#include <string.h>

#include "common/banned.h"

static bool is_meant(unsigned doors, unsigned door)
{
    return (doors & (1u << door)) != 0;
}

bool judge_is_ready(struct doctor *d, struct doctor_line *l, unsigned doors)
{
    bool is_ready = true;

    for (unsigned door = 0; door < PROBE__COUNT; door++) {
        const struct said *said;

        if (!is_meant(doors, door))
            continue;
        said = attempts(d, (enum probe_door)door);
        if (!said->why[0])
            continue;
        doctor_say(l, DOCTOR_UNKNOWN, "%s: %s", probe_door_text((enum probe_door)door), said->why);
        doctor_mend(l, "journalctl -u sessiond, and run atelier doctor again");
        is_ready = false;
    }
    return is_ready;
}

/* Return: whether it was refused. */
static bool line_judge(struct doctor_line *l, enum probe_door door, const char *name,
                       const char *target, const struct said_line *line)
{
    if (!line) {
        doctor_say(l, DOCTOR_UNKNOWN, "%s: %s %s could not be tried", probe_door_text(door), name,
                   target);
        return false;
    }
    if (line->verdict == SAID_REFUSED)
        return true;
    doctor_say(l, DOCTOR_FAIL, "%s: %s %s was not refused%s%s", probe_door_text(door), name,
               line->target, line->detail[0] ? ": " : "", line->detail);
    return false;
}

size_t judge_refused(struct doctor *d, struct doctor_line *l, unsigned doors, const char *name,
                     const char *target)
{
    size_t n = 0;

    for (unsigned door = 0; door < PROBE__COUNT; door++) {
        if (is_meant(doors, door))
            n += line_judge(l, (enum probe_door)door, name, target,
                            said_find(attempts(d, (enum probe_door)door), name, target));
    }
    return n;
}

static bool is_among(const char *const *list, const char *word)
{
    for (; list && *list; list++) {
        if (strcmp(*list, word) == 0)
            return true;
    }
    return false;
}

size_t judge_all_refused(struct doctor *d, struct doctor_line *l, unsigned doors, const char *name,
                         const char *const *except)
{
    size_t n = 0;

    for (unsigned door = 0; door < PROBE__COUNT; door++) {
        const struct said_line *line = NULL;
        const struct said *said;
        size_t lines = 0;

        if (!is_meant(doors, door))
            continue;
        said = attempts(d, (enum probe_door)door);
        while ((line = said_next(said, name, line))) {
            lines++;
            if (!is_among(except, line->target))
                n += line_judge(l, (enum probe_door)door, name, line->target, line);
        }
        if (lines == 0)
            (void)line_judge(l, (enum probe_door)door, name, "", NULL);
    }
    return n;
}

bool judge_control(struct doctor *d, enum probe_door door, const char *name, const char *target)
{
    const struct said_line *line = said_find(attempts(d, door), name, target);

    return line && line->verdict == SAID_REACHED;
}

const char *judge_error(struct doctor *d, enum probe_door door, const char *name,
                        const char *target)
{
    const struct said_line *line = said_find(attempts(d, door), name, target);

    return line && line->verdict == SAID_REFUSED ? line->error : "";
}

/* What a rule says: REJECT, by a reset or a message, and nobody who is merely not there. */
static bool is_refusal(const char *error)
{
    static const char *const refusals[] = {"ECONNREFUSED", "EHOSTUNREACH", "EACCES", "EPERM", NULL};

    return is_among(refusals, error);
}

/* Errors that say that there is no way at all, with or without rules. */
static bool is_no_way(const char *error)
{
    static const char *const none[] = {"ENETUNREACH", "EAFNOSUPPORT", "EADDRNOTAVAIL", "ENODEV",
                                       NULL};

    return is_among(none, error);
}

/* Return: 1 root has a way, 0 something was said, -1 there is none. */
static int root_judge(struct doctor *d, struct doctor_line *l, const char *name, const char *target,
                      bool is_answered)
{
    const struct said_line *line = said_find(attempts(d, PROBE_ROOT), name, target);

    if (!line) {
        doctor_say(l, DOCTOR_UNKNOWN, "root: %s %s could not be tried", name, target);
        return 0;
    }
    if (line->verdict == SAID_REACHED)
        return 1;
    if (is_no_way(line->error))
        return -1;
    if (!is_answered && (strcmp(line->error, "ETIMEDOUT") == 0 || is_refusal(line->error)))
        return 1; /* nobody answered; or root is refused, as others then are */
    doctor_say(l, DOCTOR_UNKNOWN, "root itself does not reach %s: %s", target, line->error);
    return 0;
}

int judge_path(struct doctor *d, struct doctor_line *l, unsigned doors, const char *name,
               const char *target, bool is_answered)
{
    int result = root_judge(d, l, name, target, is_answered);

    if (result < 0)
        return -1;
    for (unsigned door = 0; door < PROBE__COUNT; door++) {
        const struct said_line *line;

        if (!is_meant(doors, door))
            continue;
        line = said_find(attempts(d, (enum probe_door)door), name, target);
        if (!line_judge(l, (enum probe_door)door, name, target, line))
            result = 0;
        else if (!is_refusal(line->error)) {
            /* On a way where nobody answers, silence is what root has as well. */
            doctor_say(l, is_answered ? DOCTOR_UNKNOWN : DOCTOR_FAIL, "%s: no rule refuses %s: %s",
                       probe_door_text((enum probe_door)door), target, line->error);
            result = 0;
        }
    }
    return result;
}
