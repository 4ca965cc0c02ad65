/* SPDX-License-Identifier: ISC */
/* netrules_seen.c - are the rules of netrules.h the ones that a host has? */
#include "policy/netrules_seen.h"

#include <string.h>

#include "policy/netrules.h"

#include "common/banned.h"

/* The blank matters: ATELIER is the beginning of ATELIER-NO. */
#define IN_OUTPUT   "-A OUTPUT "
#define IN_CHAIN    "-A " NETRULES_CHAIN " "
#define IN_CHAIN_NO "-A " NETRULES_CHAIN_NO " "
/* iptables-nft, of a table with rules that it cannot show; it shows none then, and ends with 0. */
#define NOT_UNDERSTOOD "# Table `"

static bool has_prefix(const char *line, const char *prefix)
{
    return strncmp(line, prefix, strlen(prefix)) == 0;
}

/* Append @line and a newline behind the @used bytes that there are. */
static void line_add(struct netrules_seen *seen, char *text, size_t size, size_t *used,
                     const char *line, size_t length)
{
    if (length + 2 > size - *used) {
        seen->is_cut = true;
        return;
    }
    memcpy(text + *used, line, length);
    *used += length;
    text[(*used)++] = '\n';
    text[*used] = '\0';
}

/*
 * Text of others stands between quotes as it is, but for a backslash before a quote: a newline in
 * it begins a line that is no rule, and could look like ours. Source: xtables_save_string().
 */
static bool is_torn(const char *line, size_t length)
{
    bool is_quoted = false;

    for (size_t i = 0; i < length; i++) {
        if (is_quoted && line[i] == '\\')
            i++;
        else if (line[i] == '"')
            is_quoted = !is_quoted;
    }
    return is_quoted;
}

static bool is_line(const char *line, size_t length, const char *normal)
{
    return strlen(normal) == length + 1 && memcmp(line, normal, length) == 0;
}

void netrules_see(struct netrules_seen *seen, const struct netrules_form *normal, const char *line)
{
    struct netrules_form *form = &seen->form;
    size_t length = strcspn(line, "\n"), n = seen->output_count, used = 0;

    if (is_torn(line, length))
        seen->is_unreadable = true;
    if (has_prefix(line, IN_OUTPUT)) {
        /* A longer one is none of ours, and differs from ours as an empty line, too. */
        if (n < NETRULES_OUTPUT_MAX && length + 2 <= NETRULES_LINE_SIZE)
            line_add(seen, form->output[n], NETRULES_LINE_SIZE, &used, line, length);
        seen->output_count++;
        (void)netrules_stale(line, seen->stale, sizeof(seen->stale));
        if (normal && is_line(line, length, normal->output[0]))
            seen->jump_present = true;
        if (normal && is_line(line, length, normal->output[normal->output_count - 1]))
            seen->drop_present = true;
    } else if (has_prefix(line, IN_CHAIN)) {
        line_add(seen, form->chain, sizeof(form->chain), &seen->chain_used, line, length);
    } else if (has_prefix(line, IN_CHAIN_NO)) {
        line_add(seen, form->chain_no, sizeof(form->chain_no), &seen->chain_no_used, line, length);
    } else if (has_prefix(line, NOT_UNDERSTOOD)) {
        seen->is_unreadable = true;
    }
}

bool netrules_form_is_whole(const struct netrules_seen *seen, bool has_cgroup)
{
    size_t lines = has_cgroup ? NETRULES_OUTPUT_MAX : NETRULES_OUTPUT_MAX - 1;

    if (seen->is_cut || seen->is_unreadable || seen->output_count != lines)
        return false;
    for (size_t i = 0; i < lines; i++) {
        if (seen->form.output[i][0] == '\0')
            return false;
    }
    return seen->form.chain[0] && seen->form.chain_no[0];
}

void netrules_form_take(const struct netrules_seen *seen, struct netrules_form *ret_normal)
{
    *ret_normal = seen->form;
    ret_normal->output_count = (unsigned)seen->output_count;
}

enum netrules_fault netrules_compare(const struct netrules_seen *seen,
                                     const struct netrules_form *normal)
{
    unsigned last = normal->output_count - 1;

    if (strcmp(seen->form.output[0], normal->output[0]) != 0)
        return NETRULES_FAULT_JUMP;
    if (last == 2 && strcmp(seen->form.output[1], normal->output[1]) != 0)
        return NETRULES_FAULT_CGROUP;
    if (strcmp(seen->form.output[last], normal->output[last]) != 0)
        return NETRULES_FAULT_DROP;
    if (strcmp(seen->form.chain, normal->chain) != 0 || seen->is_cut)
        return NETRULES_FAULT_CHAIN;
    if (strcmp(seen->form.chain_no, normal->chain_no) != 0)
        return NETRULES_FAULT_CHAIN_NO;
    return NETRULES_FAULT_NONE;
}

const char *netrules_fault_words(enum netrules_fault fault)
{
    static const char *const words[] = {
#define X(name, text) [NETRULES_FAULT_##name] = text,
        NETRULES_FAULTS(X)
#undef X
    };

    return words[fault];
}
