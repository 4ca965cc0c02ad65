/* SPDX-License-Identifier: ISC */
/* said.h - what an attack has printed (attack/attack.h), line by line. */
#ifndef ATELIER_CTL_DOCTOR_SAID_H
#define ATELIER_CTL_DOCTOR_SAID_H

#include <stdbool.h>
#include <stddef.h>

enum said_verdict {
    SAID_NOTHING, /* no line: it was not tried, or what tried it was ended */
    SAID_REFUSED,
    SAID_REACHED,
};

#define SAID_WORD_SIZE 128

struct said_line {
    char name[32];
    char target[SAID_WORD_SIZE];
    enum said_verdict verdict;
    char error[24]; /* name of an errno, "-" for none */
    char detail[416];
};

struct said {
    char why[160]; /* not "": nothing was tried, and this is why */
    size_t count;
    struct said_line lines[];
};

/**
 * said_parse() - Take the lines of an attack
 * @text: NUL-terminated, by somebody who is not trusted: what is not a line is left out
 *
 * Return: heap; out of memory ends the program.
 */
struct said *said_parse(const char *text);

/* The line of one try; the first, if there are several. NULL: there is none. */
const struct said_line *said_find(const struct said *said, const char *name, const char *target);

/* The next line of that name behind @after, or the first for NULL. */
const struct said_line *said_next(const struct said *said, const char *name,
                                  const struct said_line *after);

#endif
