/* SPDX-License-Identifier: ISC */
/* typed.c - find the secret in what was typed or pasted. */
#include "magic-link/typed.h"

#include <string.h>

#include "magic-link/code.h"
#include "magic-link/token.h"

#include "common/banned.h"

/* Twice the longest link: nobody pastes more around it. */
#define TYPED_MAX (2 * LINK_URL_SIZE)

/* Bytes of @text that are not typed. */
struct span {
    const char *text;
    size_t size;
};

/*
 * What may stand around a secret: brackets and quotes of mail programs, punctuation of a sentence.
 * None of it is in a token or a code; '-' and '_' are in tokens and are not here.
 */
static size_t wrapping_length(const char *text, size_t size)
{
    static const char *const wrappings[] = {
        "<",      ">",      "\"",     "'",      "`",      "(",      ")",
        "[",      "]",      "{",      "}",      ".",      ",",      ";",
        ":",      "!",      "*",      "\u00ab", "\u00bb", "\u2018", "\u2019",
        "\u201a", "\u201c", "\u201d", "\u201e", "\u2039", "\u203a", "\u2026"};
    size_t blank = text[0] == '-' ? 0 : separator_length(text, size);

    for (size_t i = 0; blank == 0 && i < sizeof(wrappings) / sizeof(wrappings[0]); i++) {
        size_t n = strlen(wrappings[i]);

        if (n <= size && memcmp(text, wrappings[i], n) == 0)
            return n;
    }
    return blank;
}

/* The same at the end. No wrapping has more than three bytes. */
static size_t wrapping_length_at_end(struct span span)
{
    for (size_t n = 1; n <= 3 && n <= span.size; n++) {
        if (wrapping_length(span.text + span.size - n, n) == n)
            return n;
    }
    return 0;
}

static struct span span_trim(struct span span)
{
    size_t n;

    while (span.size > 0 && (n = wrapping_length(span.text, span.size)) > 0) {
        span.text += n;
        span.size -= n;
    }
    while ((n = wrapping_length_at_end(span)) > 0)
        span.size -= n;
    return span;
}

enum typed_kind typed_read(const char *typed, size_t size, struct secret *ret_secret)
{
    struct span span = {.text = typed, .size = size};
    const char *hash;

    *ret_secret = (struct secret){0};
    if (size == 0 || size > TYPED_MAX || memchr(typed, '\0', size))
        return TYPED_NONE;
    hash = memchr(typed, '#', size);
    if (hash) {
        span.text = hash + 1;
        span.size = size - (size_t)(span.text - typed);
    }
    span = span_trim(span);
    if (token_read(span.text, span.size, ret_secret))
        return TYPED_TOKEN;
    return code_read(span.text, span.size, ret_secret) ? TYPED_CODE : TYPED_NONE;
}
