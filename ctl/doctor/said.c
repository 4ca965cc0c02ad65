/* SPDX-License-Identifier: ISC */
/* said.c - what an attack has printed, line by line. */
#include "ctl/doctor/said.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/say.h"

#include "common/banned.h"

#define LINE_SIZE 700

/* The next word of @*at, which goes on behind it. Return: false if it does not fit, or is none. */
static bool word_take(char **at, char *ret_word, size_t size)
{
    size_t len = strcspn(*at, " ");

    if (len == 0 || len >= size)
        return false;
    memcpy(ret_word, *at, len);
    ret_word[len] = '\0';
    *at += len;
    *at += **at == ' ';
    return true;
}

static bool is_error_name(const char *word)
{
    return strcmp(word, "-") == 0 ||
           (word[0] == 'E' && word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")] == '\0');
}

static bool line_parse(char *text, struct said_line *ret_line)
{
    struct said_line line = {0};
    char verdict[16];

    for (const char *p = text; *p; p++) {
        if (*p < 0x20 || *p > 0x7e)
            return false;
    }
    if (!word_take(&text, line.name, sizeof(line.name)) ||
        !word_take(&text, line.target, sizeof(line.target)) ||
        !word_take(&text, verdict, sizeof(verdict)) ||
        !word_take(&text, line.error, sizeof(line.error)))
        return false;
    if (strcmp(verdict, "reached") == 0 && strcmp(line.error, "-") == 0)
        line.verdict = SAID_REACHED;
    else if (strcmp(verdict, "refused") == 0 && is_error_name(line.error))
        line.verdict = SAID_REFUSED;
    else
        return false;
    (void)snprintf(line.detail, sizeof(line.detail), "%s", text);
    *ret_line = line;
    return true;
}

struct said *said_parse(const char *text)
{
    struct said *said = calloc(1, sizeof(*said));
    size_t room = 0;

    if (!said)
        say_no_memory();
    while (*text) {
        size_t len = strcspn(text, "\n");
        char line[LINE_SIZE];

        if (said->count == room) {
            room += 64;
            said = realloc(said, sizeof(*said) + room * sizeof(said->lines[0]));
            if (!said)
                say_no_memory();
        }
        /* Without its newline it may be a part of one. */
        if (len < sizeof(line) && text[len] == '\n') {
            memcpy(line, text, len);
            line[len] = '\0';
            said->count += line_parse(line, &said->lines[said->count]);
        }
        text += len;
        text += *text == '\n';
    }
    return said;
}

const struct said_line *said_find(const struct said *said, const char *name, const char *target)
{
    for (size_t i = 0; i < said->count; i++) {
        if (strcmp(said->lines[i].name, name) == 0 && strcmp(said->lines[i].target, target) == 0)
            return &said->lines[i];
    }
    return NULL;
}

const struct said_line *said_next(const struct said *said, const char *name,
                                  const struct said_line *after)
{
    for (size_t i = after ? (size_t)(after - said->lines) + 1 : 0; i < said->count; i++) {
        if (strcmp(said->lines[i].name, name) == 0)
            return &said->lines[i];
    }
    return NULL;
}
