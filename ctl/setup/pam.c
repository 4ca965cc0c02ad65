/* SPDX-License-Identifier: ISC */
/* pam.c - what files of pam.d(5) say, and what pam-auth-update(8) does. */
#include "ctl/setup/pam.h"

#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "ctl/say.h"
#include "ctl/setup/file.h"
#include "ctl/setup/program.h"

#include "common/banned.h"

/* One line of pam.d(5): the type, and what stands behind the control. */
struct rule {
    struct word type, control;
    const char *module, *end;
};

/* The control is one word, or words in brackets. Return: false for a line that is no rule. */
static bool rule_read(const struct line *line, bool has_type, struct rule *ret)
{
    struct word word = {.end = line->start};
    const char *end = line->start + line->size;
    struct rule rule = {.end = end};

    if (line_is_idle(line))
        return false;
    if (has_type) {
        if (!word_next(&word, end))
            return false;
        rule.type = word;
    }
    if (!word_next(&word, end))
        return false;
    rule.control = word;
    if (*word.start == '[') {
        const char *close = memchr(word.start, ']', (size_t)(end - word.start));

        if (!close)
            return false;
        word.end = close + 1;
    }
    while (rule.end > word.end && is_blank(rule.end[-1]))
        rule.end--;
    if (!word_next(&word, rule.end))
        return false;
    rule.module = word.start;
    *ret = rule;
    return true;
}

static bool is_same_module(const struct rule *a, const struct rule *b)
{
    return a->end - a->module == b->end - b->module &&
           memcmp(a->module, b->module, (size_t)(a->end - a->module)) == 0;
}

/* The next rule of the type account. */
static bool account_next(const struct text *file, struct line *line, struct rule *ret)
{
    while (line_next(file, line)) {
        if (rule_read(line, true, ret) && word_is(&ret->type, "account"))
            return true;
    }
    return false;
}

/* The next rule of the profile's section "Account:"; @line begins on the section's header. */
static bool wanted_next(const struct text *profile, struct line *line, struct rule *ret)
{
    /* A section's lines are indented; anything else begins another one. */
    return line_next(profile, line) && line->size > 0 && is_blank(line->start[0]) &&
           rule_read(line, false, ret);
}

static bool section_find(const struct text *profile, struct line *ret)
{
    static const char header[] = "Account:";
    struct line line = {0};

    while (line_next(profile, &line)) {
        if (line.size == strlen(header) && memcmp(line.start, header, line.size) == 0) {
            *ret = line;
            return true;
        }
    }
    return false;
}

bool pam_has_profile(const struct text *account, const struct text *profile)
{
    struct line from = {0}, header;
    struct rule rule, wanted;

    if (!account->bytes || !profile->bytes || !section_find(profile, &header))
        return false;
    for (;;) {
        struct line at = from, section = header;
        size_t found = 0;
        bool is_same = true;

        while (is_same && wanted_next(profile, &section, &wanted)) {
            is_same = account_next(account, &at, &rule) && is_same_module(&rule, &wanted);
            found += is_same;
        }
        if (is_same && found > 0)
            return true;
        if (!account_next(account, &from, &rule))
            return false;
    }
}

/* Source: pam-auth-update of pam 1.5.2: "Module: NAME" before the lines of each profile. */
bool pam_is_enabled(const struct text *memory)
{
    struct line line = {0};

    while (line_next(memory, &line)) {
        const char *end = line.start + line.size;
        struct word word = {.end = line.start};

        if (word_next(&word, end) && word_is(&word, "Module:") && word_next(&word, end) &&
            word_is(&word, "atelier"))
            return true;
    }
    return false;
}

/* What the stacks of a service come to. */
struct stacks {
    bool has_auth, has_common, has_deny;
};

/* Files that include each other have to come to an end. */
#define INCLUDE_DEPTH 16

/* "account", "-account": the same type. */
static bool is_type(const struct word *word, const char *type)
{
    struct word plain = *word;

    if (plain.start < plain.end && *plain.start == '-')
        plain.start++;
    return word_is(&plain, type);
}

static void file_follow(const char *directory, const struct word *name, const char *type,
                        unsigned depth, struct stacks *stacks);

/* A line of a file that is read for one type, or for all (NULL). */
static void rule_follow(const char *directory, const struct line *line, const char *type,
                        unsigned depth, struct stacks *stacks)
{
    static const char *const types[] = {"auth", "account"};
    const char *own = NULL;
    struct word module;
    struct rule rule;

    if (!rule_read(line, true, &rule))
        return;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (is_type(&rule.type, types[i]))
            own = types[i];
    }
    module = (struct word){.end = rule.module};
    if (!own || (type && strcmp(own, type) != 0) || !word_next(&module, rule.end))
        return;
    if (word_is(&rule.control, "include") || word_is(&rule.control, "substack"))
        file_follow(directory, &module, own, depth, stacks);
    else if (strcmp(own, "auth") == 0)
        stacks->has_auth = true;
    else if (word_is(&module, "pam_deny.so") && !word_is(&rule.control, "optional"))
        stacks->has_deny = true;
}

static void file_follow(const char *directory, const struct word *name, const char *type,
                        unsigned depth, struct stacks *stacks)
{
    bool is_absolute = name->start < name->end && *name->start == '/';
    cleanup_free char *path = NULL;
    cleanup_file struct file f = {0};
    struct line line = {0};

    if (word_is(name, "common-account") && (!type || strcmp(type, "account") == 0))
        stacks->has_common = true;
    if (depth >= INCLUDE_DEPTH)
        return;
    if (asprintf(&path, "%s%s%.*s", is_absolute ? "" : directory, is_absolute ? "" : "/",
                 (int)(name->end - name->start), name->start) < 0)
        say_no_memory();
    if (file_read(path, &f) < 0)
        return;
    while (line_next(&f.text, &line)) {
        struct word word = {.end = line.start};
        const char *end = line.start + line.size;

        if (line_is_idle(&line) || !word_next(&word, end))
            continue;
        if (!word_is(&word, "@include"))
            rule_follow(directory, &line, type, depth + 1, stacks);
        else if (word_next(&word, end))
            file_follow(directory, &word, type, depth + 1, stacks);
    }
}

bool pam_lets_in_unasked(const char *directory, const char *service)
{
    const struct word name = {.start = service, .end = service + strlen(service)};
    struct stacks stacks = {0};

    file_follow(directory, &name, NULL, 0, &stacks);
    return stacks.has_auth && !stacks.has_common && !stacks.has_deny;
}

bool pam_is_root_only(const char *service)
{
    return strcmp(service, "runuser") == 0 || strcmp(service, "runuser-l") == 0;
}

char *pam_update_complaint(const struct text *output)
{
    static const char prefix[] = "pam-auth-update: ";
    struct line line = {0};
    char *text;

    while (line_next(output, &line)) {
        if (line.size <= strlen(prefix) || memcmp(line.start, prefix, strlen(prefix)) != 0)
            continue;
        text = strndup(line.start + strlen(prefix), line.size - strlen(prefix));
        if (!text)
            say_no_memory();
        return text;
    }
    return output_last_line(output);
}
