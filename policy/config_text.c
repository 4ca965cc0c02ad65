/* SPDX-License-Identifier: ISC */
/* config_text.c - what a file of the policy may consist of, before libconfuse reads it. */
#include "policy/config_draft.h"

#include "common/banned.h"

/* Text alone: what libconfuse's scanner was never meant for does not get there. */
static int bytes_check(struct config_drafts *d, const char *text, size_t size)
{
    struct config_place at = {.file = d->file_count - 1, .line = 1};

    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '\n')
            at.line++;
        else if ((c < ' ' && c != '\t' && c != '\r') || c == 0x7f)
            return config_fault(d, at, "a character that is no text");
        else if (c == '$' || c == '\\') /* ${NAME} would be of our environment */
            return config_fault(d, at, "%c is not possible here", c);
    }
    return 0;
}

/*
 * A quote or comment that is not closed would swallow the rest of the file, and libconfuse takes
 * its end for theirs; that of a section, too, so that a file that was cut would be half a policy.
 */
static int closed_check(struct config_drafts *d, const char *text, size_t size)
{
    struct config_place at = {.file = d->file_count - 1, .line = 1}, open = at, brace = at;
    unsigned depth = 0;
    char in = '\0'; /* a quote, '*', or '#' up to the end of line */

    for (size_t i = 0; i < size; i++) {
        char c = text[i], next = i + 1 < size ? text[i + 1] : '\0';

        if (c == '\n')
            at.line++;
        if (in == '\0') {
            open = at;
            if (c == '"' || c == '\'' || c == '#')
                in = c;
            else if (c == '/' && (next == '/' || next == '*'))
                in = text[++i] == '/' ? '#' : '*';
            if (c == '{' && depth++ == 0)
                brace = at;
            if (c == '}' && depth > 0)
                depth--;
        } else if ((in == '#' && c == '\n') || (in != '#' && in != '*' && c == in)) {
            in = '\0';
        } else if (in == '*' && c == '*' && next == '/') {
            in = '\0';
            i++;
        }
    }
    if (in == '\0' || in == '#')
        return depth == 0 ? 0 : config_fault(d, brace, "a { that is not closed");
    return config_fault(d, open, "a %s that is not closed", in == '*' ? "comment" : "quote");
}

int config_text_check(struct config_drafts *d, const char *text, size_t size)
{
    int r = bytes_check(d, text, size);

    return r < 0 ? r : closed_check(d, text, size);
}
