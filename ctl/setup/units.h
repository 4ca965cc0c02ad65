/* SPDX-License-Identifier: ISC */
/* units.h - what systemd says about several units at once. */
#ifndef ATELIER_CTL_SETUP_UNITS_H
#define ATELIER_CTL_SETUP_UNITS_H

#include <stdbool.h>

#include "ctl/setup/text.h"

#define UNITS_MAX 16u

struct unit_state {
    bool is_enabled; /* or there is nothing to enable */
    bool has_links;  /* enabled, and not static: somebody did it */
    bool is_active;
    bool is_ended; /* inactive or failed, as systemd said; that it said nothing is not enough */
};

/* All that --undo has to end. */
extern const char *const our_units[];

/* Those of other programs that write firewall rules. */
extern const char *const firewall_units[];

/**
 * units_parse() - Read the output of `systemctl show --property=Id,UnitFileState,ActiveState`
 * @units: Names, NULL at the end, at most UNITS_MAX
 * @ret:   One for each of them; those that the output does not name are nothing of all that
 *
 * Return: 0, or -ENODATA if the output does not name them all.
 */
int units_parse(const struct text *output, const char *const *units, struct unit_state *ret);

/**
 * units_look() - The same, asked
 *
 * Return: 0, -ENODATA as above, or another errno if systemd could not be asked; then nothing is
 * known of any.
 */
int units_look(const char *const *units, struct unit_state *ret);

/**
 * units_run() - systemctl with a verb, and all units as its arguments
 *
 * Return: 0, or -1 and it was said.
 */
int units_run(const char *verb, const char *const *units, unsigned timeout_s);

/* The same where a failure shows in what units_look() finds. */
void units_try(const char *verb, const char *const *units, unsigned timeout_s);

#endif
