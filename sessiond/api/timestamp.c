/* SPDX-License-Identifier: ISC */
/* timestamp.c - moments as text: RFC 3339, UTC, whole seconds. */
#include "sessiond/api/timestamp.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/banned.h"

#define YEAR_MIN 1970
#define YEAR_MAX 9999 /* RFC 3339 section 1: four digits */

int timestamp_format(int64_t s, char ret_text[TIMESTAMP_SIZE])
{
    const time_t t = (time_t)s;
    struct tm tm;

    ret_text[0] = '\0';
    if (s < 0 || !gmtime_r(&t, &tm) || tm.tm_year + 1900 > YEAR_MAX)
        return -ERANGE;
    return strftime(ret_text, TIMESTAMP_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0 ? 0 : -ERANGE;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Does the text begin as the pattern says, in which '0' stands for a digit? */
static bool begins_like(const char *text, const char *pattern)
{
    for (; *pattern; text++, pattern++) {
        if (*pattern == '0' ? !is_digit(*text) : *text != *pattern)
            return false;
    }
    return true;
}

static int number(const char *digits, size_t n)
{
    int v = 0;

    for (size_t i = 0; i < n; i++)
        v = v * 10 + (digits[i] - '0');
    return v;
}

/* A fraction, or nothing, and Z. */
static bool ends_well(const char *rest)
{
    if (*rest == '.') {
        if (!is_digit(*++rest))
            return false;
        while (is_digit(*rest))
            rest++;
    }
    return strcmp(rest, "Z") == 0;
}

int timestamp_parse(const char *text, int64_t *ret_s)
{
    static const char pattern[] = "0000-00-00T00:00:00";
    struct tm tm = {0}, as_read;
    time_t t;

    if (!begins_like(text, pattern) || !ends_well(text + sizeof(pattern) - 1))
        return -EINVAL;
    tm.tm_year = number(text, 4) - 1900;
    tm.tm_mon = number(text + 5, 2) - 1;
    tm.tm_mday = number(text + 8, 2);
    tm.tm_hour = number(text + 11, 2);
    tm.tm_min = number(text + 14, 2);
    tm.tm_sec = number(text + 17, 2);
    if (tm.tm_year + 1900 < YEAR_MIN)
        return -EINVAL;
    as_read = tm;
    t = timegm(&tm); /* Makes the 30th of February the 2nd of March: then it was no date. */
    if (tm.tm_year != as_read.tm_year || tm.tm_mon != as_read.tm_mon ||
        tm.tm_mday != as_read.tm_mday || tm.tm_hour != as_read.tm_hour ||
        tm.tm_min != as_read.tm_min || tm.tm_sec != as_read.tm_sec)
        return -EINVAL;
    *ret_s = (int64_t)t;
    return 0;
}
