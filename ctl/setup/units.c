/* SPDX-License-Identifier: ISC */
/* units.c - what systemd says about several units at once. */
#include "ctl/setup/units.h"

#include <string.h>

#include "ctl/setup/keys.h"
#include "ctl/setup/program.h"
#include "ctl/setup/step.h"

#include "common/banned.h"

#define SYSTEMCTL "/usr/bin/systemctl"
#define TIMEOUT_S 60
#define WORDS_MAX (UNITS_MAX + 4)

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

/* One unit: lines of properties in any order. */
static void block_parse(const struct text *block, const char *const *units, struct unit_state *ret)
{
    /* systemctl(1), is-enabled: what is static or indirect is started by others. */
    static const char *const enabled[] = {"enabled", "static", "indirect", "generated", NULL};
    static const char *const active[] = {"active", NULL};

    for (size_t i = 0; units[i]; i++) {
        const char *const name[] = {units[i], NULL};

        if (!has_value(block, "Id", name))
            continue;
        ret[i].is_enabled = has_value(block, "UnitFileState", enabled);
        ret[i].is_active = has_value(block, "ActiveState", active);
    }
}

void units_parse(const struct text *output, const char *const *units, struct unit_state *ret)
{
    struct line line = {0};
    struct text block = {.bytes = output->bytes};

    for (size_t i = 0; units[i]; i++)
        ret[i] = (struct unit_state){0};
    while (line_next(output, &line)) {
        if (line.size > 0) {
            block.size = (size_t)(line.start + line.full - block.bytes);
            continue;
        }
        block_parse(&block, units, ret);
        block = (struct text){.bytes = output->bytes + (line.start + line.full - output->bytes)};
    }
    block_parse(&block, units, ret);
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

void units_look(const char *const *units, struct unit_state *ret)
{
    cleanup_text struct text output = {0};
    const char *argv[WORDS_MAX];

    words_fill(argv, "show", "--property=Id,UnitFileState,ActiveState", units);
    (void)program_run(argv, TIMEOUT_S, &output);
    units_parse(&output, units, ret);
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
