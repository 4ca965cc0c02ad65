/* SPDX-License-Identifier: ISC */
/* sshd.c - what sshd_config(5) and the output of sshd -T say about a drop-in. */
#include "ctl/setup/sshd.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "ctl/say.h"
#include "ctl/setup/file.h"
#include "ctl/setup/keys.h"

#include "common/banned.h"

#define KEYWORD_INCLUDE "Include"
#define KEYWORD_MATCH   "Match"

static bool is_keyword(const struct word *word, const char *keyword)
{
    size_t size = (size_t)(word->end - word->start);

    return strlen(keyword) == size && strncasecmp(word->start, keyword, size) == 0;
}

/* Source: sshd_config(5): several patterns, relative ones below /etc/ssh; quotes are allowed. */
static bool include_has(struct word word, const char *end, const char *path)
{
    while (word_next(&word, end)) {
        const char *s = word.start;
        size_t size = (size_t)(word.end - word.start);
        cleanup_free char *pattern = NULL;

        if (size >= 2 && *s == '"' && s[size - 1] == '"') {
            s++;
            size -= 2;
        }
        if (asprintf(&pattern, "%s%.*s", size > 0 && *s == '/' ? "" : "/etc/ssh/", (int)size, s) <
            0)
            say_no_memory();
        if (fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0)
            return true;
    }
    return false;
}

int sshd_include_check(const struct text *config, const char *path, struct complaint *ret_why)
{
    struct line line = {0};

    while (line_next(config, &line)) {
        const char *end = line.start + line.size;
        struct word word = {.end = line.start};

        if (line_is_idle(&line) || !word_next(&word, end))
            continue;
        if (is_keyword(&word, KEYWORD_MATCH))
            break;
        if (is_keyword(&word, KEYWORD_INCLUDE) && include_has(word, end, path))
            return 0;
    }
    ret_why->line = 1;
    (void)snprintf(ret_why->what, sizeof(ret_why->what),
                   "no drop-ins are read: put \"Include /etc/ssh/sshd_config.d/*.conf\" here, "
                   "before every Match");
    return -EINVAL;
}

/* --- Match blocks -------------------------------------------------------------------------- */

/* Source: servconf.c of OpenSSH 9.2, SERVCONF_MAX_DEPTH. */
#define INCLUDE_DEPTH 16

struct denials {
    FILE *out;
    size_t count;
};

/* The keyword of a line, which may be quoted, and may have '=' behind it. Return: what follows. */
static const char *keyword_read(const struct line *line, struct word *ret)
{
    const char *s = line->start, *end = line->start + line->size;

    while (s < end && (is_blank(*s) || *s == '"'))
        s++;
    ret->start = s;
    while (s < end && !is_blank(*s) && *s != '=' && *s != '"')
        s++;
    ret->end = s;
    while (s < end && (is_blank(*s) || *s == '=' || *s == '"'))
        s++;
    return s;
}

static void config_follow(const char *path, bool is_match, unsigned depth, struct denials *found);

/* Within a block, included files are for the same logins only. */
static void include_follow(const char *s, const char *end, bool is_match, unsigned depth,
                           struct denials *found)
{
    struct word word = {.end = s};

    while (word_next(&word, end)) {
        cleanup_free char *pattern = NULL;
        glob_t files = {0};

        while (word.start < word.end && *word.start == '"')
            word.start++;
        if (asprintf(&pattern, "%s%.*s", *word.start == '/' ? "" : "/etc/ssh/",
                     (int)(word.end - word.start), word.start) < 0)
            say_no_memory();
        pattern[strcspn(pattern, "\"")] = '\0';
        if (glob(pattern, 0, NULL, &files) == 0) {
            for (size_t i = 0; i < files.gl_pathc; i++)
                config_follow(files.gl_pathv[i], is_match, depth + 1, found);
        }
        globfree(&files);
    }
}

/* A Match in an included file ends with that file. */
static void config_follow(const char *path, bool is_match, unsigned depth, struct denials *found)
{
    char *real = depth < INCLUDE_DEPTH ? realpath(path, NULL) : NULL;
    cleanup_file struct file f = {0};
    struct line line = {0};

    if (real && file_read(real, &f) < 0)
        f = (struct file){0};
    free(real);
    while (line_next(&f.text, &line)) {
        const char *rest;
        struct word word;

        if (line_is_idle(&line))
            continue;
        rest = keyword_read(&line, &word);
        if (is_keyword(&word, KEYWORD_MATCH)) {
            is_match = true;
        } else if (is_keyword(&word, KEYWORD_INCLUDE)) {
            include_follow(rest, line.start + line.size, is_match, depth, found);
        } else if (is_match && is_keyword(&word, "DenyGroups")) {
            (void)fprintf(found->out, "%s%s:%zu", found->count > 0 ? ", " : "", path, line.number);
            found->count++;
        }
    }
}

size_t sshd_match_denials(const char *path, FILE *out)
{
    struct denials found = {.out = out};

    config_follow(path, false, 0, &found);
    return found.count;
}

/* --- what sshd says ------------------------------------------------------------------------ */

bool sshd_uses_pam(const struct text *effective)
{
    struct line line = {0};

    while (line_next(effective, &line)) {
        struct word word = {.end = line.start};

        if (word_next(&word, line.start + line.size) && is_keyword(&word, "usepam"))
            return word_next(&word, line.start + line.size) && word_is(&word, "yes");
    }
    return false;
}

int sshd_options_check(const struct text *defaults, struct complaint *ret_why)
{
    const char *start;
    struct word word;
    size_t size;

    if (key_find(defaults, KEYS_ASSIGN, "SSHD_OPTS", &start, &size, &ret_why->line) < 0)
        return 0;
    word = (struct word){.end = start};
    while (word_next(&word, start + size)) {
        if (word.end - word.start >= 2 && memcmp(word.start, "-f", 2) == 0) {
            (void)snprintf(ret_why->what, sizeof(ret_why->what),
                           "SSHD_OPTS makes sshd read another configuration than "
                           "/etc/ssh/sshd_config, which setup does not understand");
            return -EINVAL;
        }
    }
    return 0;
}

/* Whether a line of sshd -T is "keyword value" for one of the lists of who is refused. */
static bool is_denial(const struct line *line)
{
    struct word word = {.end = line->start};

    return word_next(&word, line->start + line->size) &&
           (is_keyword(&word, "denygroups") || is_keyword(&word, "denyusers"));
}

bool sshd_denies(const struct text *effective, const char *group)
{
    struct line line = {0};

    while (line_next(effective, &line)) {
        struct word word = {.end = line.start};

        if (!word_next(&word, line.start + line.size) || !is_keyword(&word, "denygroups"))
            continue;
        while (word_next(&word, line.start + line.size)) {
            if (word_is(&word, group))
                return true;
        }
    }
    return false;
}

char *sshd_denied_missing(const struct text *before, const struct text *after)
{
    struct line old = {0};

    while (line_next(before, &old)) {
        struct line new = {0};
        bool is_there = false;
        char *text;

        if (!is_denial(&old))
            continue;
        while (!is_there && line_next(after, &new))
            is_there = line_is_same(&old, &new);
        if (is_there)
            continue;
        text = strndup(old.start, old.size);
        if (!text)
            say_no_memory();
        return text;
    }
    return NULL;
}
