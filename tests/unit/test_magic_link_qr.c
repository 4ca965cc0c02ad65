/* SPDX-License-Identifier: ISC */
/*
 * test_magic_link_qr.c - links as text and as QR codes.
 *
 * The QR code is read back from the text by a reader of its own: format, mask, zigzag, bytes.
 * Versions 2 to 5 at level L are one block, so that no error correction is needed to read them.
 * Source: ISO/IEC 18004:2015, 7.4, 7.7.3, 7.8.2 and 7.9.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "magic-link/magic_link.h"

#include "common/banned.h"

#define TOKEN "atl_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8wt5E"

/* --- links --------------------------------------------------------------------------------- */

static void a_link_carries_the_token_in_its_fragment(void **state)
{
    static const struct {
        const char *base, *url;
    } cases[] = {
        {"https://host.example.org", "https://host.example.org/#" TOKEN},
        {"https://host.example.org/", "https://host.example.org/#" TOKEN},
        {"http://127.0.0.1:8080", "http://127.0.0.1:8080/#" TOKEN},
        {"https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443/#" TOKEN},
        {"https://h/workshop", "https://h/workshop#" TOKEN},
        {"https://h/workshop/", "https://h/workshop/#" TOKEN},
    };
    char url[LINK_URL_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(magic_link_base_is_valid(cases[i].base));
        assert_int_equal(magic_link_url(cases[i].base, TOKEN, url, sizeof(url)), 0);
        assert_string_equal(url, cases[i].url);
    }
}

static void a_base_that_fits_makes_a_link_that_fits(void **state)
{
    char base[LINK_URL_SIZE + 1] = "https://host", url[LINK_URL_SIZE];
    size_t valid = 0;

    (void)state;
    for (size_t n = strlen(base); n < LINK_URL_SIZE; n++) {
        bool is_valid = magic_link_base_is_valid(base);

        if (is_valid)
            assert_int_equal(magic_link_url(base, TOKEN, url, sizeof(url)), 0);
        valid += is_valid;
        base[n] = 'x';
    }
    assert_true(valid > 400);
    assert_false(magic_link_base_is_valid(base));
    assert_int_equal(magic_link_url(base, TOKEN, url, sizeof(url)), -ENAMETOOLONG);
    assert_int_equal(magic_link_url("https://h", TOKEN, url, strlen("https://h/#" TOKEN)),
                     -ENAMETOOLONG);
}

static void what_a_link_may_not_begin_with(void **state)
{
    static const char *const bases[] = {
        "",
        "https://",
        "https:///",
        "host.example.org",
        "ftp://host",
        "HTTPS://host",
        "javascript:alert(1)",
        "https://host?x",
        "https://host/#",
        "https://host/?x",
        "https://user@host",
        "https://user:pw@host",
        "https://host:",
        "https://host:0",
        "https://host:65536",
        "https://host:080",
        "https://host:1234567",
        "https://host:80x",
        "https://ho st",
        " https://host",
        "https://host ",
        "https://host\n",
        "https://host/\x7f",
        "https://h\xc3\xb6st",
        "https://host/\"x",
        "https://host/<x>",
        "https://host\\x",
        "https://-host",
        "https://.host",
        "https://[::1",
        "https://[]",
        "https://::1",
    };

    (void)state;
    assert_false(magic_link_base_is_valid(NULL));
    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
        if (magic_link_base_is_valid(bases[i]))
            fail_msg("'%s'", bases[i]);
    }
    assert_true(magic_link_base_is_valid("https://host:65535/a-b_c.d~e%20"));
}

/* --- the reader ---------------------------------------------------------------------------- */

#define QUIET    4
#define SIDE_MAX 37 /* version 5 */

struct matrix {
    int side;
    bool dark[SIDE_MAX + 2 * QUIET + 1][SIDE_MAX + 2 * QUIET]; /* with the quiet zone */
};

/* One character of half blocks; how many bytes it has. */
static size_t cell_read(const char *s, bool *ret_upper_dark, bool *ret_lower_dark)
{
    static const struct {
        const char *text;
        bool upper_dark, lower_dark;
    } cells[] = {{"\u2588", false, false},
                 {"\u2580", false, true},
                 {"\u2584", true, false},
                 {" ", true, true}};

    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        if (strncmp(s, cells[i].text, strlen(cells[i].text)) == 0) {
            *ret_upper_dark = cells[i].upper_dark;
            *ret_lower_dark = cells[i].lower_dark;
            return strlen(cells[i].text);
        }
    }
    fail_msg("not a half block: %.4s", s);
    return 0;
}

static void matrix_read(const char *text, struct matrix *ret_m)
{
    int row = 0, column = 0, columns = 0;

    for (; *text; row += 2) {
        for (column = 0; *text != '\n'; column++) {
            assert_true(column < SIDE_MAX + 2 * QUIET && row < SIDE_MAX + 2 * QUIET);
            text += cell_read(text, &ret_m->dark[row][column], &ret_m->dark[row + 1][column]);
        }
        assert_true(columns == 0 || columns == column);
        columns = column;
        text++;
    }
    assert_int_equal(row, columns + 1); /* the side is odd, and half a line is left */
    ret_m->side = columns - 2 * QUIET;
    for (int y = 0; y <= columns; y++) {
        for (int x = 0; x < columns; x++) {
            bool is_inside =
                x >= QUIET && y >= QUIET && x < QUIET + ret_m->side && y < QUIET + ret_m->side;

            assert_true(is_inside || !ret_m->dark[y][x]);
        }
    }
}

static bool is_dark(const struct matrix *m, int row, int column)
{
    return m->dark[row + QUIET][column + QUIET];
}

/* 7.9.1: fifteen bits beside the first finder; level and mask are the first five. */
static unsigned format_read(const struct matrix *m)
{
    static const struct {
        int row, column;
    } places[] = {{8, 0}, {8, 1}, {8, 2}, {8, 3}, {8, 4}, {8, 5}, {8, 7}, {8, 8},
                  {7, 8}, {5, 8}, {4, 8}, {3, 8}, {2, 8}, {1, 8}, {0, 8}};
    unsigned bits = 0;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        bits = bits << 1 | is_dark(m, places[i].row, places[i].column);
    return (bits ^ 0x5412) >> 10;
}

static bool is_masked(unsigned mask, int r, int c)
{
    switch (mask) {
    case 0:
        return (r + c) % 2 == 0;
    case 1:
        return r % 2 == 0;
    case 2:
        return c % 3 == 0;
    case 3:
        return (r + c) % 3 == 0;
    case 4:
        return (r / 2 + c / 3) % 2 == 0;
    case 5:
        return r * c % 2 + r * c % 3 == 0;
    case 6:
        return (r * c % 2 + r * c % 3) % 2 == 0;
    default:
        return ((r + c) % 2 + r * c % 3) % 2 == 0;
    }
}

/* Finders with their separators and formats, timing, and the one alignment pattern. */
static bool is_function(int side, int r, int c)
{
    int middle = side - 7;

    return (r < 9 && c < 9) || (r < 9 && c >= side - 8) || (r >= side - 8 && c < 9) || r == 6 ||
           c == 6 || (side > 21 && abs(r - middle) <= 2 && abs(c - middle) <= 2);
}

/* The bits of the code words in the order of 7.7.3. */
static size_t bits_read(const struct matrix *m, unsigned mask, bool *ret_bits)
{
    bool is_upward = true;
    size_t n = 0;

    for (int right = m->side - 1; right > 0; right -= 2) {
        if (right == 6)
            right--;
        for (int i = 0; i < m->side; i++) {
            int r = is_upward ? m->side - 1 - i : i;

            for (int c = right; c > right - 2; c--) {
                if (!is_function(m->side, r, c))
                    ret_bits[n++] = is_dark(m, r, c) != is_masked(mask, r, c);
            }
        }
        is_upward = !is_upward;
    }
    return n;
}

static unsigned number_read(const bool **bits, int n)
{
    unsigned v = 0;

    for (; n > 0; n--)
        v = v << 1 | *(*bits)++;
    return v;
}

static void reads_as(const char *drawn, const char *wanted)
{
    static bool bits[SIDE_MAX * SIDE_MAX];
    struct matrix m = {0};
    const bool *at = bits;
    unsigned format;
    size_t n;

    matrix_read(drawn, &m);
    assert_in_range(m.side, 25, SIDE_MAX);
    /* The middles of the three finders, and the first of the timing pattern. */
    assert_true(is_dark(&m, 3, 3) && is_dark(&m, 3, m.side - 4) && is_dark(&m, m.side - 4, 3));
    assert_true(is_dark(&m, 6, 8) && !is_dark(&m, 6, 9) && is_dark(&m, 6, 10));
    format = format_read(&m);
    assert_int_equal(format >> 3, 1); /* level L */
    n = bits_read(&m, format & 7, bits);
    assert_true(n >= 12 + 8 * strlen(wanted));
    assert_int_equal(number_read(&at, 4), 4); /* bytes */
    assert_int_equal(number_read(&at, 8), strlen(wanted));
    for (; *wanted; wanted++)
        assert_int_equal(number_read(&at, 8), (unsigned char)*wanted);
}

static void a_qr_code_says_the_link(void **state)
{
    static const char *const texts[] = {
        "https://atelier.example.org/#" TOKEN,
        "https://h/#" TOKEN,
        "0123456789012345678901234567890123456789", /* bytes too, not digits */
        "https://a-much-longer-name.workshop.example.org:8443/#" TOKEN,
    };
    char *drawn = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(magic_link_qr(texts[i], &drawn), 0);
        reads_as(drawn, texts[i]);
        free(drawn);
    }
}

static void a_qr_code_of_a_link_fits_a_terminal(void **state)
{
    char *drawn = NULL;
    size_t lines = 0;

    (void)state;
    assert_int_equal(magic_link_qr("https://atelier.example.org/#" TOKEN, &drawn), 0);
    for (const char *c = drawn; *c; c++) {
        lines += *c == '\n';
        assert_int_not_equal(*c, '\x1b');
    }
    assert_true(lines <= 23);
    free(drawn);
}

static void the_longest_link_has_a_qr_code_and_longer_text_has_none(void **state)
{
    char text[LINK_URL_SIZE + 2] = {0};
    char *drawn = NULL;

    (void)state;
    memset(text, 'x', LINK_URL_SIZE);
    assert_int_equal(magic_link_qr(text, &drawn), 0);
    free(drawn);
    drawn = NULL;
    text[LINK_URL_SIZE] = 'x';
    assert_int_equal(magic_link_qr(text, &drawn), -E2BIG);
    assert_int_equal(magic_link_qr("", &drawn), -EINVAL);
    assert_null(drawn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_carries_the_token_in_its_fragment),
        cmocka_unit_test(a_base_that_fits_makes_a_link_that_fits),
        cmocka_unit_test(what_a_link_may_not_begin_with),
        cmocka_unit_test(a_qr_code_says_the_link),
        cmocka_unit_test(a_qr_code_of_a_link_fits_a_terminal),
        cmocka_unit_test(the_longest_link_has_a_qr_code_and_longer_text_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
