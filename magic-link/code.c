/* SPDX-License-Identifier: ISC */
/*
 * code.c - text of a code: ten random symbols and two of checksum.
 *
 * The twelve symbols are a word of a Reed-Solomon code over GF(32): a polynomial that is zero at
 * A and at A^2, A being a root of x^5 + x^2 + 1. Two different words differ in three places or
 * more, so every change of one or two symbols makes no word: any wrong symbol, any swap, at no more
 * than two check symbols. A sum with weights would have to be searched for its gaps; here there
 * are none to find.
 *
 * Source: Lin and Costello, Error Control Coding, chapter 7; Crockford's alphabet and its reading
 * of I, L and O: https://www.crockford.com/base32.html
 */
#include "magic-link/code.h"

#include <string.h>

#include "common/banned.h"

#define CHECK_SYMBOLS (CODE_SYMBOLS - CODE_RANDOM)
#define GROUP         4u
#define FIELD_MASK    31u
#define FIELD_POLY    0x25u /* x^5 + x^2 + 1, primitive: its root A runs through all of GF(32) */

_Static_assert(CODE_SYMBOLS % GROUP == 0 &&
                   CODE_TEXT_SIZE == CODE_SYMBOLS + CODE_SYMBOLS / GROUP - 1 + 1,
               "length of a code");

/* --- the field ----------------------------------------------------------------------------- */

/* Times A^1 or A^2. Without branches on the value: codes are secret. */
static unsigned field_shift(unsigned v, unsigned power)
{
    for (; power > 0; power--) {
        v <<= 1;
        v ^= FIELD_POLY & (0u - (v >> 5));
    }
    return v & FIELD_MASK;
}

static unsigned field_multiply(unsigned a, unsigned b)
{
    unsigned product = 0;

    for (unsigned bit = 0; bit < 5; bit++) {
        product ^= a & (0u - ((b >> bit) & 1));
        a = field_shift(a, 1);
    }
    return product;
}

/* Remainder by (x - A)(x - A^2) = x^2 + (A + A^2) x + A^3, where A = 2, A^2 = 4, A^3 = 8. */
static void check_compute(const uint8_t *symbols, uint8_t ret_check[static CHECK_SYMBOLS])
{
    unsigned high = 0, low = 0;

    for (size_t i = 0; i < CODE_RANDOM; i++) {
        unsigned lead = high ^ symbols[i];

        high = low ^ field_multiply(lead, 2 ^ 4);
        low = field_multiply(lead, 8);
    }
    ret_check[0] = (uint8_t)high;
    ret_check[1] = (uint8_t)low;
}

/* Is the word zero at A and at A^2? */
static bool is_word(const uint8_t symbols[static CODE_SYMBOLS])
{
    unsigned first = 0, second = 0;

    for (size_t i = 0; i < CODE_SYMBOLS; i++) {
        first = field_shift(first, 1) ^ symbols[i];
        second = field_shift(second, 2) ^ symbols[i];
    }
    return (first | second) == 0;
}

/* --- writing ------------------------------------------------------------------------------- */

void code_write(const struct secret *secret, char ret_text[static CODE_TEXT_SIZE])
{
    uint8_t symbols[CODE_SYMBOLS];
    char *out = ret_text;

    memcpy(symbols, secret->bytes, CODE_RANDOM);
    check_compute(symbols, symbols + CODE_RANDOM);
    for (size_t i = 0; i < CODE_SYMBOLS; i++) {
        if (i > 0 && i % GROUP == 0)
            *out++ = '-';
        *out++ = CODE_ALPHABET[symbols[i] & FIELD_MASK];
    }
    *out = '\0';
    sodium_memzero(symbols, sizeof(symbols));
}

void code_make(struct secret *ret_secret, char ret_text[static CODE_TEXT_SIZE])
{
    *ret_secret = (struct secret){.size = CODE_RANDOM};
    randombytes_buf(ret_secret->bytes, CODE_RANDOM);
    for (size_t i = 0; i < CODE_RANDOM; i++)
        ret_secret->bytes[i] &= FIELD_MASK;
    code_write(ret_secret, ret_text);
}

/* --- reading ------------------------------------------------------------------------------- */

/* Value of a symbol, or -1. */
static int symbol_value(char c)
{
    const char *found;

    if (c >= 'a' && c <= 'z')
        c = (char)(c - 'a' + 'A');
    if (c == 'O')
        c = '0';
    if (c == 'I' || c == 'L')
        c = '1';
    found = memchr(CODE_ALPHABET, c, sizeof(CODE_ALPHABET) - 1);
    return found ? (int)(found - CODE_ALPHABET) : -1;
}

size_t separator_length(const char *text, size_t size)
{
    /*
     * Blanks and dashes of Unicode: no-break space, soft hyphen, U+2000..U+200D and U+2010..U+2015,
     * line and paragraph separator, narrow no-break space, U+205F, U+2060, U+2043, minus, U+3000,
     * and the small and wide hyphens; the byte order mark that some editors put in front.
     */
    static const char *const others[] = {
        "\u00a0", "\u00ad", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
        "\u2007", "\u2008", "\u2009", "\u200a", "\u200b", "\u200c", "\u200d", "\u2010", "\u2011",
        "\u2012", "\u2013", "\u2014", "\u2015", "\u2028", "\u2029", "\u202f", "\u2043", "\u205f",
        "\u2060", "\u2212", "\u3000", "\ufe58", "\ufe63", "\uff0d", "\ufeff"};

    if (size == 0)
        return 0;
    if (memchr(" -\t\r\n\v\f", text[0], 7))
        return 1;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        size_t n = strlen(others[i]);

        if (n <= size && memcmp(text, others[i], n) == 0)
            return n;
    }
    return 0;
}

bool code_read(const char *text, size_t size, struct secret *ret_secret)
{
    uint8_t symbols[CODE_SYMBOLS];
    bool is_code = true;
    size_t n = 0;

    for (size_t i = 0; is_code && i < size;) {
        size_t skip = separator_length(text + i, size - i);
        int value = skip > 0 ? -1 : symbol_value(text[i]);

        i += skip > 0 ? skip : 1;
        if (skip > 0)
            continue;
        is_code = value >= 0 && n < CODE_SYMBOLS;
        if (is_code)
            symbols[n++] = (uint8_t)value;
    }
    is_code = is_code && n == CODE_SYMBOLS && is_word(symbols);
    if (is_code) {
        *ret_secret = (struct secret){.size = CODE_RANDOM};
        memcpy(ret_secret->bytes, symbols, CODE_RANDOM);
    }
    sodium_memzero(symbols, sizeof(symbols));
    return is_code;
}
