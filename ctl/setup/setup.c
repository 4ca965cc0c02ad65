/* SPDX-License-Identifier: ISC */
/*
 * setup.c - all steps, one after the other.
 *
 * The order: first what keeps participants out of the host's own doors, then what makes them known,
 * then what lets them in. Undone in reverse, so that at no time somebody is known whom a door of
 * the host's own does not refuse.
 */
#include "ctl/setup/setup.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/say.h"
#include "ctl/setup/program.h"
#include "ctl/setup/traces.h"

#include "common/banned.h"

static const struct step *const steps[] = {
    &step_host,    &step_ids,          &step_limits,   &step_host_sshd,
    &step_pam,     &step_user_manager, &step_accounts, &step_nsswitch,
    &step_options, &step_keys,         &step_firewall, &step_services,
};
#define STEP_COUNT (sizeof(steps) / sizeof(steps[0]))

/* Ctrl-C and the like: between two steps, not within one. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    interrupted = signal;
}

static void interrupts_catch(void)
{
    const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        (void)sigaction(signals[i], &action, NULL);
}

/* --- what steps say ------------------------------------------------------------------------ */

static char *sentence(const char *format, va_list args)
{
    cleanup_free char *text = text_vformat(format, args);

    return text_escape(text, strlen(text), NULL);
}

void plan_say(struct setup *s, const char *format, ...)
{
    cleanup_free char *text = NULL;
    va_list args;

    va_start(args, format);
    text = sentence(format, args);
    va_end(args);
    (void)fprintf(s->out, "  * %s\n", text);
    s->planned++;
}

void note_say(struct setup *s, const char *format, ...)
{
    cleanup_free char *text = NULL;
    va_list args;

    va_start(args, format);
    text = sentence(format, args);
    va_end(args);
    (void)fprintf(s->out, "  note: %s\n", text);
}

void refuse(struct setup *s, const char *format, ...)
{
    cleanup_free char *text = NULL;
    va_list args;

    va_start(args, format);
    text = sentence(format, args);
    va_end(args);
    (void)fprintf(stderr, "atelier: setup: %s\n", text);
    s->refusals++;
}

int step_fail(const char *format, ...)
{
    cleanup_free char *text = NULL;
    va_list args;

    va_start(args, format);
    text = sentence(format, args);
    va_end(args);
    (void)fprintf(stderr, "atelier: setup: %s\n", text);
    return -1;
}

int must_run(const char *const *argv, unsigned timeout_s)
{
    cleanup_free char *command = argv_text(argv);
    cleanup_text struct text output = {0};
    cleanup_free char *why = NULL;
    int r = program_run(argv, timeout_s, &output);

    if (r == 0)
        return 0;
    why = program_why(r, &output);
    return step_fail("%s: %s", command, why);
}

bool unit_is(const char *verb, const char *unit)
{
    return program_run(ARGV("/usr/bin/systemctl", verb, "--quiet", unit), 30, NULL) == 0;
}

/* --- all of them --------------------------------------------------------------------------- */

void setup_plan(struct setup *s)
{
    for (size_t i = 0; i < STEP_COUNT; i++) {
        if (steps[i]->plan)
            steps[i]->plan(s);
    }
}

int setup_apply(struct setup *s)
{
    interrupts_catch();
    for (size_t i = 0; i < STEP_COUNT; i++) {
        if (interrupted)
            return step_fail("interrupted before the step %s", steps[i]->name);
        if (steps[i]->apply && steps[i]->apply(s) < 0)
            return step_fail("the step %s failed", steps[i]->name);
    }
    return 0;
}

int setup_undo(struct setup *s)
{
    int result = 0, r;

    interrupts_catch();
    for (size_t i = STEP_COUNT; i-- > 0;) {
        if (interrupted)
            return step_fail("interrupted; atelier setup --undo goes on where it was");
        if (!steps[i]->undo || steps[i]->undo(s) == 0)
            continue;
        result =
            step_fail("the step %s is not undone; its record stays in " SETUP_DIR, steps[i]->name);
        /*
         * While anything of ours runs, or the host knows participants, its doors stay closed. While
         * it has our rules, the range of ids is no one else's: they would hold for whom useradd(8)
         * puts there.
         */
        if (steps[i] == &step_services || steps[i] == &step_firewall || steps[i] == &step_nsswitch)
            return result;
    }
    if (result < 0)
        return result;
    r = record_remove(&s->record);
    return r < 0 ? step_fail("cannot remove " SETUP_DIR ": %s", strerror(-r)) : 0;
}

int setup_purge(struct setup *s)
{
    static const char *const paths[] = {ATELIER_HOMES_DIR, ATELIER_STATE_DIR, ATELIER_RUN_DIR};

    (void)s;
    if (purge_check() < 0)
        return -1;
    if (traces_say() > 0)
        return step_fail("participants may still be known here, as said above: nothing is purged");
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (must_run(ARGV("/usr/bin/rm", "-rf", "--one-file-system", "--", paths[i]), 3600) < 0)
            return -1;
    }
    return 0;
}
