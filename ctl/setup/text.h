/* SPDX-License-Identifier: ISC */
/* text.h - whole texts of configuration files, and their lines. No memory ends the program. */
#ifndef ATELIER_CTL_SETUP_TEXT_H
#define ATELIER_CTL_SETUP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes with a NUL behind them, owned; @bytes is NULL where there is no file. */
struct text {
    char *bytes;
    size_t size;
};

void text_done(struct text *t);
#define cleanup_text __attribute__((cleanup(text_done)))

struct text text_of(const char *bytes, size_t size);
bool text_is_same(const struct text *a, const struct text *b);

/* Move out of a cleanup_text variable. */
struct text text_take(struct text *t);

/* A stream that writes into @t; text_end() closes it and makes @t valid. */
FILE *text_begin(struct text *t);
void text_end(struct text *t, FILE *out);

/* One line. Begin with all zero. */
struct line {
    const char *start; /* borrowed from the text */
    size_t size;       /* without the line's end */
    size_t full;       /* with it; the same for a last line that has none */
    size_t number;     /* from 1 */
};

/* Go to the first or next line. Return: false at the end. */
bool line_next(const struct text *t, struct line *line);

/* Whether the line is blank or a comment that begins with '#'. */
bool line_is_idle(const struct line *line);

bool line_is_same(const struct line *a, const struct line *b);

/* Write the line as it is, with its end. */
void line_write(FILE *out, const struct line *line);

/* A word: bytes between blanks. Begin with @end at the place to start from. */
struct word {
    const char *start, *end;
};

/* The next word before @limit. Return: false if there is none. */
bool word_next(struct word *word, const char *limit);
bool word_is(const struct word *word, const char *text);

bool is_blank(char c);

#endif
