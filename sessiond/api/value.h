/* SPDX-License-Identifier: ISC */
/* value.h - what a request gave, in a sentence about it. */
#ifndef ATELIER_API_VALUE_H
#define ATELIER_API_VALUE_H

#include <jansson.h>

#define VALUE_SIZE 97u

/**
 * value_text() - Write a value so that it is seen where it begins and ends, and does nothing
 * @s:        Foreign text; NULL is written as nothing
 * @ret_text: A word of the kind that names and addresses are made of as it is. Everything else as a
 *            JSON string, in which also the characters are escaped that do something to a terminal
 *            or to the direction of what is beside them. What is too long ends in "..."
 *
 * Return: @ret_text.
 */
const char *value_text(const char *s, char ret_text[VALUE_SIZE]);

/* The same of any JSON value; an array or object is called so. */
const char *value_text_json(const json_t *v, char ret_text[VALUE_SIZE]);

/* For the arguments of error_set(): the text lives as long as the block. */
#define VALUE(s)      value_text((s), (char[VALUE_SIZE]){""})
#define VALUE_JSON(v) value_text_json((v), (char[VALUE_SIZE]){""})

#endif
