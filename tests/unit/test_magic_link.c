/* SPDX-License-Identifier: ISC */
/* test_magic_link.c - tokens and codes as text, and what people make of them when they paste. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "magic-link/code.h"
#include "magic-link/token.h"
#include "magic-link/typed.h"

#include "common/banned.h"

/* --- tokens -------------------------------------------------------------------------------- */

/* Computed with hashlib and base64 of Python. */
#define TOKEN_COUNTING "atl_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8wt5E"
#define TOKEN_ONES     "atl___________________________________________84EyC"

static struct secret counting(size_t size)
{
    struct secret secret = {.size = size};

    for (size_t i = 0; i < size; i++)
        secret.bytes[i] = (uint8_t)i;
    return secret;
}

static void a_token_is_the_text_that_others_compute(void **state)
{
    struct secret secret = counting(SECRET_BYTES), ones = {.size = SECRET_BYTES}, read;
    char text[TOKEN_TEXT_SIZE];

    (void)state;
    token_write(&secret, text);
    assert_string_equal(text, TOKEN_COUNTING);
    memset(ones.bytes, 0xff, sizeof(ones.bytes));
    token_write(&ones, text);
    assert_string_equal(text, TOKEN_ONES);
    assert_true(token_read(TOKEN_COUNTING, TOKEN_TEXT_LEN, &read));
    assert_memory_equal(&read, &secret, sizeof(secret));
    assert_true(token_read(TOKEN_ONES, TOKEN_TEXT_LEN, &read));
    assert_memory_equal(&read, &ones, sizeof(ones));
}

static void a_new_token_reads_back_and_is_new(void **state)
{
    struct secret a, b, read;
    char text[TOKEN_TEXT_SIZE];

    (void)state;
    token_make(&a, text);
    assert_int_equal(strlen(text), TOKEN_TEXT_LEN);
    assert_true(token_read(text, TOKEN_TEXT_LEN, &read));
    assert_memory_equal(&read, &a, sizeof(a));
    token_make(&b, text);
    assert_memory_not_equal(a.bytes, b.bytes, SECRET_BYTES);
}

static void a_token_with_any_other_character_is_none(void **state)
{
    static const char others[] = "AZaz09-_+/= .";
    char text[TOKEN_TEXT_SIZE];
    struct secret read;

    (void)state;
    for (size_t i = 0; i < TOKEN_TEXT_LEN; i++) {
        for (const char *c = others; *c; c++) {
            memcpy(text, TOKEN_COUNTING, sizeof(text));
            if (text[i] == *c)
                continue;
            text[i] = *c;
            assert_false(token_read(text, TOKEN_TEXT_LEN, &read));
        }
    }
    for (size_t size = 0; size < TOKEN_TEXT_LEN; size++)
        assert_false(token_read(TOKEN_COUNTING, size, &read));
    assert_false(token_read(TOKEN_COUNTING "A", TOKEN_TEXT_LEN + 1, &read));
}

/* --- codes --------------------------------------------------------------------------------- */

static bool code_is(const char *text, size_t size)
{
    struct secret read;

    return code_read(text, size, &read);
}

static void codes_are_the_text_that_others_compute(void **state)
{
    /* Found by trying all check symbols with another arithmetic of the same field. */
    static const struct {
        uint8_t symbols[CODE_RANDOM];
        const char *text;
    } cases[] = {
        {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "0123-4567-89P9"},
        {{31, 7, 0, 19, 30, 1, 2, 25, 13, 11}, "Z70K-Y12S-DBR5"},
        {{0}, "0000-0000-0000"},
    };
    char text[CODE_TEXT_SIZE];
    struct secret read;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct secret secret = {.size = CODE_RANDOM};

        memcpy(secret.bytes, cases[i].symbols, CODE_RANDOM);
        code_write(&secret, text);
        assert_string_equal(text, cases[i].text);
        assert_true(code_read(text, strlen(text), &read));
        assert_memory_equal(&read, &secret, sizeof(secret));
    }
}

static void every_wrong_symbol_and_every_swap_is_caught(void **state)
{
    char text[CODE_TEXT_SIZE], wrong[CODE_TEXT_SIZE];
    struct secret secret;
    size_t swaps = 0;

    (void)state;
    for (int round = 0; round < 50; round++) {
        code_make(&secret, text);
        assert_true(code_is(text, strlen(text)));
        for (size_t i = 0; i < CODE_TEXT_SIZE - 1; i++) {
            size_t next = text[i + 1] == '-' ? i + 2 : i + 1;

            if (text[i] == '-')
                continue;
            for (const char *c = CODE_ALPHABET; *c; c++) {
                memcpy(wrong, text, sizeof(wrong));
                wrong[i] = *c;
                assert_int_equal(code_is(wrong, strlen(wrong)), *c == text[i]);
            }
            if (text[next] == '\0' || text[next] == text[i])
                continue;
            memcpy(wrong, text, sizeof(wrong));
            wrong[i] = text[next];
            wrong[next] = text[i];
            assert_false(code_is(wrong, strlen(wrong)));
            swaps++;
        }
    }
    assert_true(swaps > 400);
}

/* A longer distance than is promised in the manual, and the reason for the arithmetic. */
static void every_two_wrong_symbols_are_caught(void **state)
{
    static const char text[] = "Z70KY12SDBR5";
    char wrong[sizeof(text)];
    size_t good = 0;

    (void)state;
    for (size_t i = 0; i < CODE_SYMBOLS; i++) {
        for (size_t k = i + 1; k < CODE_SYMBOLS; k++) {
            for (size_t n = 0; n < 32u * 32u; n++) {
                memcpy(wrong, text, sizeof(wrong));
                wrong[i] = CODE_ALPHABET[n % 32];
                wrong[k] = CODE_ALPHABET[n / 32];
                good += code_is(wrong, CODE_SYMBOLS);
            }
        }
    }
    assert_int_equal(good, CODE_SYMBOLS * (CODE_SYMBOLS - 1) / 2); /* itself, once in each round */
}

/* What people and programs do to a code; @seed chooses. */
static size_t code_mangle(const char *code, unsigned seed, char out[static 128])
{
    static const char *const separators[] = {"",       " ",      "-",      "\u2013", "\u2011",
                                             "\u00a0", "\u2014", "\u2212", "\u00ad", "  ",
                                             "\t",     "\u200b", " - "};
    size_t n = 0;

    for (; *code; code++, seed = seed * 1103515245u + 12345u) {
        const char *separator = separators[(seed >> 16) % 13];
        char c = *code;

        if (c == '-' || (seed >> 20) % 5 == 0) {
            memcpy(out + n, separator, strlen(separator));
            n += strlen(separator);
        }
        if (c == '-')
            continue;
        if (c == '0' && (seed >> 24) % 2)
            c = 'O';
        else if (c == '1' && (seed >> 24) % 3)
            c = (seed >> 24) % 3 == 1 ? 'I' : 'l';
        out[n++] = (seed >> 28) % 2 ? (char)tolower(c) : c;
    }
    return n;
}

static int text_compare(const void *a, const void *b)
{
    return memcmp(a, b, CODE_TEXT_SIZE);
}

static void ten_thousand_codes_are_distinct_and_read_back_however_they_are_typed(void **state)
{
    enum { COUNT = 10000 };
    char(*texts)[CODE_TEXT_SIZE] = calloc(COUNT, CODE_TEXT_SIZE);
    char mangled[128];

    (void)state;
    assert_non_null(texts);
    for (unsigned i = 0; i < COUNT; i++) {
        struct secret secret, read;
        size_t n;

        code_make(&secret, texts[i]);
        assert_int_equal(strspn(texts[i], CODE_ALPHABET "-"), CODE_TEXT_SIZE - 1);
        n = code_mangle(texts[i], i, mangled);
        if (!code_read(mangled, n, &read))
            fail_msg("%s is not read as '%.*s'", texts[i], (int)n, mangled);
        assert_memory_equal(&read, &secret, sizeof(secret));
    }
    qsort(texts, COUNT, sizeof(texts[0]), text_compare);
    for (size_t i = 1; i < COUNT; i++)
        assert_string_not_equal(texts[i - 1], texts[i]);
    free(texts);
}

static void what_is_no_code_is_none(void **state)
{
    static const char *const texts[] = {
        "",
        "-",
        "0123-4567-89P",
        "0123-4567-89P90",
        "0123-4567-89PU",
        "0123_4567_89P9",
        "0123.4567.89P9",
        "0123-4567-89P9\xff",
        "\xc2"
        "0123-4567-89P9",
        "0123\xe2\x80-4567-89P9", /* half a dash */
    };

    (void)state;
    assert_true(code_is("0123-4567-89P9", 14));
    assert_true(code_is("ol23456789p9", 12));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(code_is(texts[i], strlen(texts[i])));
    assert_false(code_is("0123-4567-89P9\0", 15));
}

/* --- what was typed ------------------------------------------------------------------------ */

static enum typed_kind kind_of(const char *text, struct secret *ret_secret)
{
    return typed_read(text, strlen(text), ret_secret);
}

static void links_are_found_however_they_are_pasted(void **state)
{
#define LINK "https://host.example.org/#" TOKEN_COUNTING
    static const char *const texts[] = {
        LINK,
        LINK "\n",
        LINK "\r\n",
        " \t" LINK "  ",
        "<" LINK ">",
        "\"" LINK "\"",
        "'" LINK "'",
        "\u201c" LINK "\u201d",
        "\u00ab" LINK "\u00bb\n",
        "`" LINK "`",
        "(" LINK ").",
        "\ufeff" LINK,
        LINK "\u00a0",
        "URL:" LINK ";",
        "http://127.0.0.1:8080/a/b#" TOKEN_COUNTING,
        "#" TOKEN_COUNTING,
        "host.example.org/# " TOKEN_COUNTING,
        TOKEN_COUNTING,
        "\n" TOKEN_COUNTING "\n\n",
        "[" TOKEN_COUNTING "]",
        "'" TOKEN_COUNTING "'.",
    };
    struct secret wanted = counting(SECRET_BYTES), read;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (kind_of(texts[i], &read) != TYPED_TOKEN)
            fail_msg("'%s'", texts[i]);
        assert_memory_equal(&read, &wanted, sizeof(read));
    }
    /* Words after a link are not guessed at. */
    assert_int_equal(kind_of(LINK " is good until Friday", &read), TYPED_NONE);
}

static void codes_are_found_however_they_are_pasted(void **state)
{
    static const char *const texts[] = {
        "0123-4567-89P9",
        "0123-4567-89P9\n",
        " 0123 4567 89p9\r\n",
        "\"0123-4567-89P9\"",
        "<0123-4567-89P9>.",
        "0123456789P9",
        "O123-4567-89P9",
        "- 0123-4567-89P9",
        "0123\u20134567\u201389P9",
        "*0123-4567-89P9*",
        "\u20180123-4567-89P9\u2019",
        "https://host.example.org/#0123-4567-89P9",
    };
    struct secret wanted = counting(CODE_RANDOM), read;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (kind_of(texts[i], &read) != TYPED_CODE)
            fail_msg("'%s'", texts[i]);
        assert_memory_equal(&read, &wanted, sizeof(read));
    }
}

static void what_holds_a_nul_or_is_too_long_is_no_secret(void **state)
{
    char text[4096];
    struct secret read;

    (void)state;
    memset(text, ' ', sizeof(text));
    memcpy(text, TOKEN_COUNTING, TOKEN_TEXT_LEN);
    assert_int_equal(typed_read(text, 600, &read), TYPED_TOKEN);
    assert_int_equal(typed_read(text, sizeof(text), &read), TYPED_NONE);
    text[100] = '\0';
    assert_int_equal(typed_read(text, 600, &read), TYPED_NONE);
    assert_int_equal(read.size, 0);
    assert_int_equal(typed_read(text, 0, &read), TYPED_NONE);
    assert_int_equal(typed_read(text, 100, &read), TYPED_TOKEN);
}

static void garbage_of_any_length_is_no_secret(void **state)
{
    static const char *const texts[] = {
        "#",      "##",   "<>",       "\"\"", "- -",  "https://host/",
        "\u201c", "\xe2", "\xe2\x80", "#<",   "atl_", "passw0rd"};
    struct secret read;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(kind_of(texts[i], &read), TYPED_NONE);
    for (size_t size = 1; size <= 65536; size += size < 1200 ? 1 : 997) {
        /* At the very end of the memory, so that a sanitizer sees each byte read too many. */
        char *end = malloc(size);

        assert_non_null(end);
        randombytes_buf(end, size);
        assert_int_equal(typed_read(end, size, &read), TYPED_NONE);
        memset(end, "#-<\xe2\"0"[size % 6], size);
        if (size != CODE_SYMBOLS || end[0] != '0')
            assert_int_equal(typed_read(end, size, &read), TYPED_NONE);
        free(end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_the_text_that_others_compute),
        cmocka_unit_test(a_new_token_reads_back_and_is_new),
        cmocka_unit_test(a_token_with_any_other_character_is_none),
        cmocka_unit_test(codes_are_the_text_that_others_compute),
        cmocka_unit_test(every_wrong_symbol_and_every_swap_is_caught),
        cmocka_unit_test(every_two_wrong_symbols_are_caught),
        cmocka_unit_test(ten_thousand_codes_are_distinct_and_read_back_however_they_are_typed),
        cmocka_unit_test(what_is_no_code_is_none),
        cmocka_unit_test(links_are_found_however_they_are_pasted),
        cmocka_unit_test(codes_are_found_however_they_are_pasted),
        cmocka_unit_test(what_holds_a_nul_or_is_too_long_is_no_secret),
        cmocka_unit_test(garbage_of_any_length_is_no_secret),
    };

    if (sodium_init() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
