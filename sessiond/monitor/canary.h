/* SPDX-License-Identifier: ISC */
/*
 * canary.h - rules that exist are not rules that work.
 *
 * A resident probe, built like any run but with the reserved uid ID_CANARY, tries to reach our own
 * listener at 127.0.0.1, at ::1 and at an address of the host. In the same round root must reach
 * the listener at each of them: a dead listener and a REJECT look alike to the probe.
 *
 *   probe refused everywhere, root reached everywhere   HOLDS      (good for CANARY_FRESH_MS)
 *   probe connected somewhere                           LEAK
 *   probe dead, late, or failed in another way          NO_PROBE
 *   root failed somewhere                               NO_TARGET
 * Anything but HOLDS means that nothing is started, whatever network was asked for.
 */
#ifndef ATELIER_CANARY_H
#define ATELIER_CANARY_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/wire.h"

#define CANARY_FRESH_MS 1000

struct canary;
struct cgroup;

/* One party that waits for a verdict; embedded in it. */
struct canary_waiter {
    void (*fn)(void *arg, enum wire_canary verdict, const char *what);
    void *arg;
    bool is_for_others; /* asks for those who have started already: only a leak overrules */
    struct canary_waiter *next;
};

/**
 * canary_new() - Start the listener and the probe
 * @base:         Event base, borrowed
 * @spawner_sock: Borrowed
 * @cgroup:       Borrowed; the probe gets a leaf as a run does, so that what somebody does to our
 *                groups is done to it, too
 * @ret_c:        Owned by the caller, canary_free()
 *
 * Return: 0 or a negative errno. The probe comes up while the event loop runs.
 */
int canary_new(struct event_base *base, int spawner_sock, struct cgroup *cgroup,
               struct canary **ret_c);

void canary_free(struct canary *c);

/**
 * canary_require() - Get a verdict that is at most CANARY_FRESH_MS old
 * @w: Waiter with fn and arg set; must stay valid until fn is called or canary_cancel()
 *
 * fn may be called before this returns.
 */
void canary_require(struct canary *c, struct canary_waiter *w);

/* Forget a waiter; fine if it is not waiting. */
void canary_cancel(struct canary *c, struct canary_waiter *w);

/* Drop the cached verdict: the rules were just loaded anew. */
void canary_forget(struct canary *c);

/**
 * canary_overrule() - Say something else than what the rounds find out
 * @verdict: For everybody who asks from now on, and who waits; WIRE_CANARY_HOLDS: no longer.
 *           Anything but WIRE_CANARY_LEAK is for those who want to start something only
 * @what:    Why; static
 */
void canary_overrule(struct canary *c, enum wire_canary verdict, const char *what);

/* Milliseconds since the last round that held; UINT32_MAX if there was none. */
uint32_t canary_age_ms(const struct canary *c);

/* Fill canary, canary_age_ms, canary_what and canary_cost. */
void canary_report(struct canary *c, struct wire_status *status);

#endif
