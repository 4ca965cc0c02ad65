/* SPDX-License-Identifier: ISC */
/* units.c - what systemd says about several units at once. */
#include "ctl/setup/units.h"

#include <errno.h>
#include <string.h>

#include "ctl/setup/keys.h"
#include "ctl/setup/program.h"
#include "ctl/setup/step.h"

#include "common/banned.h"

#define SYSTEMCTL "/usr/bin/systemctl"
#define TIMEOUT_S 60
#define WORDS_MAX (UNITS_MAX + 4)

const char *const our_units[] = {
    "atelier.target",
    "atelier-holder.service",
    "sessiond.service",
    "sessiond-api.service",
    "atelier-sshd.service",
    "atelier-core.socket",
    "atelier-session.socket",
    "atelier-api.socket",
    "atelier-admin.socket",
    "atelier-pam.socket",
    NULL,
};

static bool has_value(const struct text *block, const char *key, const char *const *values)
{
    const char *start;
    size_t size, line;

    if (key_find(block, KEYS_ASSIGN, key, &start, &size, &line) < 0)
        return false;
    for (; *values; values++) {
        if (strlen(*values) == size && memcmp(start, *values, size) == 0)
            return true;
    }
    return false;
}

/* One unit: lines of properties in any order. Return: how many of the units it is, 0 or 1. */
static size_t block_parse(const struct text *block, const char *const *units,
                          struct unit_state *ret)
{
    /* systemctl(1), is-enabled: what is static or indirect is started by others. */
    static const char *const enabled[] = {"enabled", "static", "indirect", "generated", NULL};
    static const char *const links[] = {"enabled", "enabled-runtime", NULL};
    static const char *const active[] = {"active", NULL};
    static const char *const ended[] = {"inactive", "failed", NULL};

    for (size_t i = 0; units[i]; i++) {
        const char *const name[] = {units[i], NULL};

        if (!has_value(block, "Id", name))
            continue;
        ret[i].is_enabled = has_value(block, "UnitFileState", enabled);
        ret[i].has_links = has_value(block, "UnitFileState", links);
        ret[i].is_active = has_value(block, "ActiveState", active);
        ret[i].is_ended = has_value(block, "ActiveState", ended);
        return 1;
    }
    return 0;
}

int units_parse(const struct text *output, const char *const *units, struct unit_state *ret)
{
    struct line line = {0};
    struct text block = {.bytes = output->bytes};
    size_t wanted = 0, named = 0;

    for (; units[wanted]; wanted++)
        ret[wanted] = (struct unit_state){0};
    while (line_next(output, &line)) {
        if (line.size > 0) {
            block.size = (size_t)(line.start + line.full - block.bytes);
            continue;
        }
        named += block_parse(&block, units, ret);
        block = (struct text){.bytes = output->bytes + (line.start + line.full - output->bytes)};
    }
    named += block_parse(&block, units, ret);
    return named == wanted ? 0 : -ENODATA;
}

/* The words of a command: at most three, then the units. */
static void words_fill(const char **argv, const char *verb, const char *option,
                       const char *const *units)
{
    size_t n = 0;

    argv[n++] = SYSTEMCTL;
    argv[n++] = verb;
    if (option)
        argv[n++] = option;
    for (size_t i = 0; units[i] && i < UNITS_MAX; i++)
        argv[n++] = units[i];
    argv[n] = NULL;
}

int units_look(const char *const *units, struct unit_state *ret)
{
    cleanup_text struct text output = {0};
    const char *argv[WORDS_MAX];
    int r;

    for (size_t i = 0; units[i]; i++)
        ret[i] = (struct unit_state){0};
    words_fill(argv, "show", "--property=Id,UnitFileState,ActiveState", units);
    r = program_run(argv, TIMEOUT_S, &output);
    if (r != 0)
        return r < 0 ? r : -EIO;
    return units_parse(&output, units, ret);
}

int units_run(const char *verb, const char *const *units, unsigned timeout_s)
{
    const char *argv[WORDS_MAX];

    words_fill(argv, verb, NULL, units);
    return must_run(argv, timeout_s);
}

void units_try(const char *verb, const char *const *units, unsigned timeout_s)
{
    const char *argv[WORDS_MAX];

    words_fill(argv, verb, NULL, units);
    (void)program_run(argv, timeout_s, NULL);
}
