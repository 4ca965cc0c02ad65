/* SPDX-License-Identifier: ISC */
/* near.h - which known word a mistyped one most likely was. */
#ifndef ATELIER_NEAR_H
#define ATELIER_NEAR_H

#include <stddef.h>

/**
 * near_find() - The known word that is nearest, if one is near
 * @word:  As it was given; any bytes
 * @known: @count words; NULL among them is none
 *
 * Near is what has a third of the letters wrong at most (one too many, too few, another, or two
 * that changed places; 'A' is 'a'), or the beginning, three letters at least, in common with all of
 * one of the two. The first of several that are as near.
 *
 * Return: one of @known, or NULL.
 */
const char *near_find(const char *word, const char *const known[], size_t count);

#define NEAR_HINT_SIZE 320u

/**
 * near_hint() - The end of a sentence that says that a word is not known
 * @ret_text: "did you mean memory?", or "known: run, login, user"; what has no room is "..." at a
 *            comma. "" if nothing is known
 *
 * Return: @ret_text.
 */
const char *near_hint(const char *word, const char *const known[], size_t count,
                      char ret_text[NEAR_HINT_SIZE]);

#endif
