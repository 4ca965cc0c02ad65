/* SPDX-License-Identifier: ISC */
/*
 * qr.c - a QR code made of half blocks.
 *
 * A character is two modules, one above the other. Light modules are drawn, dark ones are left
 * blank: on a terminal with light text on a dark ground that is the right way round, and phones
 * read the other way too. The lowest level of error correction, since screens have no dirt:
 * a link stays within 80 columns and 24 lines.
 */
#include <errno.h>
#include <qrencode.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "magic-link/magic_link.h"

#include "common/banned.h"

#define QUIET 4 /* modules; ISO/IEC 18004 asks for four */
#define BLOCK 3 /* bytes of a half or whole block in UTF-8 */

/* Outside is the quiet zone, and so light. */
static bool is_light(const QRcode *qr, int x, int y)
{
    if (x < 0 || y < 0 || x >= qr->width || y >= qr->width)
        return true;
    return (qr->data[y * qr->width + x] & 1) == 0;
}

static char *cell_write(char *out, bool upper, bool lower)
{
    static const char *const blocks[2][2] = {{" ", "\u2584"}, {"\u2580", "\u2588"}};
    const char *block = blocks[upper][lower];
    size_t n = strlen(block);

    memcpy(out, block, n);
    return out + n;
}

/* Heap, or NULL. */
static char *text_make(const QRcode *qr)
{
    size_t side = (size_t)qr->width + 2 * QUIET;
    char *text = malloc((side + 1) / 2 * (side * BLOCK + 1) + 1), *out = text;

    if (!text)
        return NULL;
    for (int y = -QUIET; y < qr->width + QUIET; y += 2) {
        for (int x = -QUIET; x < qr->width + QUIET; x++)
            out = cell_write(out, is_light(qr, x, y), is_light(qr, x, y + 1));
        *out++ = '\n';
    }
    *out = '\0';
    return text;
}

int magic_link_qr(const char *text, char **ret_text)
{
    QRcode *qr;
    char *drawn;

    if (strlen(text) > LINK_URL_SIZE)
        return -E2BIG;
    qr = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L);
    if (!qr)
        return errno == ERANGE ? -E2BIG : errno == ENOMEM ? -ENOMEM : -EINVAL;
    drawn = text_make(qr);
    sodium_memzero(qr->data, (size_t)qr->width * (size_t)qr->width);
    QRcode_free(qr);
    if (!drawn)
        return -ENOMEM;
    *ret_text = drawn;
    return 0;
}
