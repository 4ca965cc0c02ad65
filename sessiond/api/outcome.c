/* SPDX-License-Identifier: ISC */
/* outcome.c - what sessiond says of the end of a run, in the words of the API. */
#include "sessiond/api/outcome.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "policy/plan.h"

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

static bool is_more_than_none(uint64_t count)
{
    return count != WIRE_NOT_KNOWN && count > 0;
}

/* --- which of several reasons -------------------------------------------------------------- */

/* All that is known of an end. */
struct facts {
    const struct wire_run_ended *m;
    enum kill_reason asked;
    bool failed; /* the program ended by itself, and not well */
};

/* A flood is one whether or not the program ended by itself before the signal came. */
static bool was_flood(const struct facts *f)
{
    return f->asked == KILL_FLOOD;
}

static bool was_unsafe(const struct facts *f)
{
    return f->m->end == WIRE_END_UNSAFE;
}

static bool was_locked(const struct facts *f)
{
    return f->m->end == WIRE_END_KILLED && f->asked == KILL_LOCKED;
}

static bool was_cancelled(const struct facts *f)
{
    return f->m->end == WIRE_END_KILLED;
}

/* A program that was never started ran out of nothing. */
static bool was_not_started(const struct facts *f)
{
    return f->m->end == WIRE_END_NO_EXEC;
}

/* Out of memory is the reason even if the program goes on without the process that was killed. */
static bool had_too_little_memory(const struct facts *f)
{
    if (f->m->end == WIRE_END_MEMORY && !is_more_than_none(f->m->usage.oom_kills))
        return true;
    return is_more_than_none(f->m->usage.oom_kills) && is_more_than_none(f->m->usage.oom_own);
}

static bool ran_out_of_time(const struct facts *f)
{
    return f->m->end == WIRE_END_TIMEOUT;
}

/* Of a program that ended by itself only if it took that badly. */
static bool ran_out_of_processor_time(const struct facts *f)
{
    return f->m->end == WIRE_END_CPU || (f->failed && f->m->cpu_is_used != 0);
}

/* The kernel has chosen the run for somebody else's need: no reason for a time that ran out. */
static bool died_for_anothers_memory(const struct facts *f)
{
    return is_more_than_none(f->m->usage.oom_kills) && !ran_out_of_time(f) &&
           !ran_out_of_processor_time(f);
}

/*
 * A refused fork only if the program took it badly. Which limit it was, the run's or one above, the
 * kernel does not tell.
 */
static bool had_too_few_processes(const struct facts *f)
{
    return is_more_than_none(f->m->usage.pids_refused) &&
           (f->failed || ran_out_of_time(f) || ran_out_of_processor_time(f));
}

/* Nobody could refuse it: sessiond saw them. */
static bool had_too_many_processes(const struct facts *f)
{
    return f->m->end == WIRE_END_PIDS;
}

/* RLIMIT_FSIZE. A program that raises the signal itself is not told from it. */
static bool made_a_file_too_large(const struct facts *f)
{
    return f->m->end == WIRE_END_SIGNAL && f->m->value == SIGXFSZ;
}

/* What was full at the end was so before; what the program has freed again is not seen. */
static bool filled_a_file_system(const struct facts *f)
{
    return f->failed && f->m->full_places != 0;
}

static bool ended_by_a_signal(const struct facts *f)
{
    return f->m->end == WIRE_END_SIGNAL || f->m->end == WIRE_END_LOST;
}

static bool ended_badly(const struct facts *f)
{
    return f->m->end == WIRE_END_EXIT && f->m->value != 0;
}

static bool ended_well(const struct facts *f)
{
    return f->m->end == WIRE_END_EXIT;
}

/*
 * The first that holds is the status. What we ended, we ended; then what the kernel took or
 * refused, because time may have run out for want of it; then time; then what is
 * likely to be why the program failed; then its own word. Exit code and signal are data of their
 * own, whatever the status says.
 */
static const struct reason {
    bool (*holds)(const struct facts *f);
    enum status status;
    const char *message;
} reasons[] = {
    {was_flood, STATUS_OUTPUT_FLOOD, "The run wrote more than it may in total."},
    {was_unsafe, STATUS_INTERNAL, "The network rules stopped to hold: sessiond ended the run."},
    {was_locked, STATUS_LOCKED, "The user was locked, or the user's time is over."},
    {was_cancelled, STATUS_CANCELLED, ""},
    {was_not_started, STATUS_EXIT, ""}, /* set_no_exec() */
    {had_too_little_memory, STATUS_OOM, "The run needed more memory than it may."},
    {died_for_anothers_memory, STATUS_OOM,
     "Killed because the participant's runs and sessions together, all participants, or the host "
     "ran out of memory."},
    {had_too_many_processes, STATUS_PIDS,
     "The run had more processes and threads than it may: sessiond ended it."},
    {had_too_few_processes, STATUS_PIDS,
     "A process or thread was refused: the run, the participant or all participants had as many "
     "as they may."},
    {ran_out_of_time, STATUS_TIMEOUT_WALL, "The run used up its time."},
    {ran_out_of_processor_time, STATUS_TIMEOUT_CPU, "The run used up its processor time."},
    {made_a_file_too_large, STATUS_DISK, "A file was to become larger than a file may be."},
    {filled_a_file_system, STATUS_DISK, ""}, /* set_full() */
    {ended_by_a_signal, STATUS_SIGNAL, ""},
    {ended_badly, STATUS_EXIT, ""},
    {ended_well, STATUS_OK, ""},
};

static void set_status(struct outcome *o, const struct facts *f)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (!reasons[i].holds(f))
            continue;
        o->status = reasons[i].status;
        (void)snprintf(o->message, sizeof(o->message), "%s", reasons[i].message);
        return;
    }
}

/* --- data ---------------------------------------------------------------------------------- */

static void set_no_exec(struct outcome *o, uint32_t error, const char *program)
{
    o->exit_code = error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    (void)snprintf(o->message, sizeof(o->message), "%.200s: %s", program, error_text(error));
}

static void set_full(struct outcome *o, uint32_t places)
{
    static const char *const names[PLAN_PLACE__COUNT] = {
#define PLACE_NAME(id, target, key) [PLAN_PLACE_##id] = "/" target,
        PLAN_PLACES(PLACE_NAME)
#undef PLACE_NAME
    };
    size_t n = (size_t)snprintf(o->message, sizeof(o->message),
                                "The program failed, and at its end no room was left in%s",
                                (places & WIRE_FULL_WORK) != 0 ? " ~/work" : "");

    for (unsigned i = 0; i < PLAN_PLACE__COUNT && n < sizeof(o->message); i++) {
        if ((places & (1u << i)) != 0)
            n += (size_t)snprintf(o->message + n, sizeof(o->message) - n, " %s",
                                  i == PLAN_PLACE_HOME ? "HOME" : names[i]);
    }
    if (n < sizeof(o->message))
        (void)snprintf(o->message + n, sizeof(o->message) - n, ".");
}

static void set_code(struct outcome *o, const struct wire_run_ended *m, const char *program)
{
    switch ((enum wire_end)m->end) {
    case WIRE_END_EXIT:
        o->exit_code = (int32_t)(m->value & 0xff); /* wait(2): eight bits */
        return;
    case WIRE_END_SIGNAL:
        o->signal = (int32_t)(m->value & 0x7f); /* wait(2): seven bits */
        return;
    case WIRE_END_NO_EXEC:
        set_no_exec(o, m->value, program);
        return;
    case WIRE_END_LOST:
    case WIRE_END_MEMORY:
    case WIRE_END_PIDS:
        o->signal = SIGKILL;
        return;
    case WIRE_END_TIMEOUT:
    case WIRE_END_CPU:
    case WIRE_END_KILLED:
    case WIRE_END_UNSAFE:
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
    const struct facts f = {
        .m = m,
        .asked = asked,
        .failed = (m->end == WIRE_END_EXIT && m->value != 0) || m->end == WIRE_END_SIGNAL ||
                  m->end == WIRE_END_LOST,
    };

    o.usage.wall_ms = m->wall_us / 1000;
    o.usage.cpu_us = m->cpu_user_us + m->cpu_sys_us;
    o.usage.rss_peak_kib = m->rss_peak_kib;
    o.usage.group = m->usage;
    /* The group counts those, too, that nobody waited for. */
    if (m->usage.cpu_us != WIRE_NOT_KNOWN && m->usage.cpu_us > o.usage.cpu_us)
        o.usage.cpu_us = m->usage.cpu_us;
    set_status(&o, &f);
    if (was_flood(&f))
        return o;
    set_code(&o, m, program);
    if (o.status == STATUS_DISK && !made_a_file_too_large(&f))
        set_full(&o, m->full_places);
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
