/* SPDX-License-Identifier: ISC */
/* outcome.c - what sessiond says of the end of a run, in the words of the API. */
#include "sessiond/api/outcome.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/banned.h"

struct step_text {
    const char *key;
    const char *text;
};

static const struct step_text step_texts[WIRE_STEP__COUNT] = {
#define STEP_TEXT(id, step_key, step_what) [WIRE_STEP_##id] = {step_key, step_what},
    WIRE_STEPS(STEP_TEXT)
#undef STEP_TEXT
};

bool outcome_end_is_known(uint32_t end)
{
    return end < WIRE_END__COUNT;
}

bool outcome_step_is_known(uint32_t step)
{
    return step < WIRE_STEP__COUNT;
}

static const char *error_text(uint32_t error)
{
    const char *text = strerrordesc_np((int)error);

    return text ? text : "Unknown error";
}

const char *outcome_signal_name(int signal)
{
    static char rt[24];
    const char *name = sigabbrev_np(signal);

    if (signal <= 0)
        return NULL;
    if (name)
        return name;
    if (signal >= SIGRTMIN)
        (void)snprintf(rt, sizeof(rt), "RTMIN+%d", signal - SIGRTMIN);
    else
        (void)snprintf(rt, sizeof(rt), "%d", signal);
    return rt;
}

static void set_no_exec(struct outcome *o, uint32_t error, const char *program)
{
    o->status = STATUS_EXIT;
    o->exit_code = error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    (void)snprintf(o->message, sizeof(o->message), "%.200s: %s", program, error_text(error));
}

/* What sessiond killed because we asked ends with the reason why we asked. */
static void set_killed(struct outcome *o, enum kill_reason asked)
{
    o->status = STATUS_CANCELLED;
    switch (asked) {
    case KILL_LOCKED:
        o->status = STATUS_LOCKED;
        (void)snprintf(o->message, sizeof(o->message),
                       "The user was locked, or the user's time is over.");
        return;
    case KILL_FLOOD: /* set_flood() has decided it */
    case KILL_NOT_ASKED:
    case KILL_CLIENT_GONE:
    case KILL_STOPPING:
        return;
    }
}

/* A flood is one whether or not the program ended by itself before the signal came. */
static bool set_flood(struct outcome *o, enum kill_reason asked)
{
    if (asked != KILL_FLOOD)
        return false;
    o->status = STATUS_OUTPUT_FLOOD;
    (void)snprintf(o->message, sizeof(o->message), "The run wrote more than it may in total.");
    return true;
}

static bool is_more_than_none(uint64_t count)
{
    return count != WIRE_NOT_KNOWN && count > 0;
}

/*
 * Out of memory is the reason even if the program goes on without the process that was killed. But
 * the kernel may have chosen the run for somebody else's need: then it is not the run's fault, and
 * no reason for a time that ran out. Return: whether it was.
 */
static bool set_oom(struct outcome *o, const struct wire_usage *u)
{
    if (!is_more_than_none(u->oom_kills))
        return false;
    if (is_more_than_none(u->oom_own)) {
        (void)snprintf(o->message, sizeof(o->message), "The run needed more memory than it may.");
    } else {
        if (o->status == STATUS_TIMEOUT_WALL)
            return false;
        (void)snprintf(o->message, sizeof(o->message),
                       "Killed because the participant's runs and sessions together, all "
                       "participants, or the host ran out of memory.");
    }
    o->status = STATUS_OOM;
    return true;
}

/*
 * Why a program ended as it did: a refused fork only if the program took it badly. Which limit it
 * was, the run's or one above, the kernel does not tell. Not for a run that we ended: then our
 * reason counts. Exit code and signal stay as they are.
 */
static void set_limit(struct outcome *o, const struct wire_usage *u)
{
    if (o->status != STATUS_OK && o->status != STATUS_EXIT && o->status != STATUS_SIGNAL &&
        o->status != STATUS_TIMEOUT_WALL)
        return;
    if (set_oom(o, u) || !is_more_than_none(u->pids_refused) || o->status == STATUS_OK)
        return;
    o->status = STATUS_PIDS;
    (void)snprintf(o->message, sizeof(o->message),
                   "A process or thread was refused: the run, the participant or all participants "
                   "had as many as they may.");
}

static void set_end(struct outcome *o, const struct wire_run_ended *m, enum kill_reason asked,
                    const char *program)
{
    switch ((enum wire_end)m->end) {
    case WIRE_END_EXIT:
        o->status = m->value == 0 ? STATUS_OK : STATUS_EXIT;
        o->exit_code = (int32_t)(m->value & 0xff); /* wait(2): eight bits */
        return;
    case WIRE_END_SIGNAL:
        o->status = STATUS_SIGNAL;
        o->signal = (int32_t)(m->value & 0x7f); /* wait(2): seven bits */
        return;
    case WIRE_END_TIMEOUT:
        o->status = STATUS_TIMEOUT_WALL;
        return;
    case WIRE_END_KILLED:
        set_killed(o, asked);
        return;
    case WIRE_END_NO_EXEC:
        set_no_exec(o, m->value, program);
        return;
    case WIRE_END_LOST:
        o->status = STATUS_SIGNAL;
        o->signal = SIGKILL;
        return;
    case WIRE_END_UNSAFE:
        (void)snprintf(o->message, sizeof(o->message),
                       "The network rules stopped to hold: sessiond ended the run.");
        return;
    case WIRE_END__COUNT:
        return;
    }
}

/* Nothing is known of a group. */
static const struct wire_usage no_usage = {
    .memory_peak_bytes = WIRE_NOT_KNOWN,
    .cpu_us = WIRE_NOT_KNOWN,
    .pids_peak = WIRE_NOT_KNOWN,
    .oom_kills = WIRE_NOT_KNOWN,
    .oom_own = WIRE_NOT_KNOWN,
    .pids_refused = WIRE_NOT_KNOWN,
};

struct outcome outcome_of_end(const struct wire_run_ended *m, enum kill_reason asked,
                              const char *program)
{
    struct outcome o = {.status = STATUS_INTERNAL, .exit_code = -1};

    o.usage.wall_ms = m->wall_us / 1000;
    o.usage.cpu_us = m->cpu_user_us + m->cpu_sys_us;
    o.usage.rss_peak_kib = m->rss_peak_kib;
    o.usage.group = m->usage;
    /* The group counts those, too, that nobody waited for. */
    if (m->usage.cpu_us != WIRE_NOT_KNOWN && m->usage.cpu_us > o.usage.cpu_us)
        o.usage.cpu_us = m->usage.cpu_us;
    if (set_flood(&o, asked))
        return o;
    set_end(&o, m, asked, program);
    /* A program that was never started ran out of nothing. */
    if (m->end != WIRE_END_NO_EXEC)
        set_limit(&o, &m->usage);
    return o;
}

void outcome_step_message(uint32_t step, uint32_t error, const char *what, char *ret_message,
                          size_t size)
{
    char about[WIRE_PATH_SIZE + 4] = "", why[160] = "";

    if (what[0])
        (void)snprintf(about, sizeof(about), ": %.*s", (int)WIRE_PATH_SIZE - 1, what);
    if (error)
        (void)snprintf(why, sizeof(why), ": %s", error_text(error));
    (void)snprintf(ret_message, size, "Could not %s%s%s.", step_texts[step].text, about, why);
}

struct outcome outcome_of_failure(const struct wire_run_failed *m)
{
    struct outcome o = {.status = STATUS_SETUP_FAILED, .exit_code = -1, .usage.group = no_usage};

    outcome_step_message(m->step, m->error, m->what, o.message, sizeof(o.message));
    if (m->step == WIRE_STEP_BUSY)
        o.status = STATUS_BUSY;
    else
        o.step = step_texts[m->step].key;
    return o;
}

const char *outcome_session_end_key(uint32_t end)
{
    static const char *const keys[WIRE_SESSION_END__COUNT] = {
#define SESSION_END_KEY(id, key) [WIRE_SESSION_END_##id] = key,
        WIRE_SESSION_ENDS(SESSION_END_KEY)
#undef SESSION_END_KEY
    };

    return keys[end < WIRE_SESSION_END__COUNT ? end : (uint32_t)WIRE_SESSION_END_LOST];
}

struct outcome outcome_of_loss(void)
{
    struct outcome o = {.status = STATUS_INTERNAL, .exit_code = -1, .usage.group = no_usage};

    (void)snprintf(o.message, sizeof(o.message), "sessiond is gone.");
    return o;
}

struct outcome outcome_of_busy(const char *message)
{
    struct outcome o = {.status = STATUS_BUSY, .exit_code = -1, .usage.group = no_usage};

    (void)snprintf(o.message, sizeof(o.message), "%s", message);
    return o;
}
