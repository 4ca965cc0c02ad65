/* SPDX-License-Identifier: ISC */
/* when.c - moments and durations as an administrator writes them. */
#include "ctl/when.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/str.h"

#include "common/banned.h"

#define DAY_S (24 * 60 * 60)

int duration_parse(const char *text, int64_t *ret_s)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 60 * 60}, {'d', DAY_S}, {'w', 7 * DAY_S}};
    size_t length = strlen(text);
    char digits[16];
    uint32_t n;
    int r;

    if (length < 2 || length > sizeof(digits))
        return -EINVAL;
    memcpy(digits, text, length - 1);
    digits[length - 1] = '\0';
    r = str_to_u32(digits, UINT32_MAX, &n);
    for (size_t i = 0; r == 0 && i < sizeof(units) / sizeof(units[0]); i++) {
        if (text[length - 1] != units[i].unit)
            continue;
        if (n == 0 || n > DURATION_MAX_S / units[i].seconds)
            return -ERANGE;
        *ret_s = n * units[i].seconds;
        return 0;
    }
    return r < 0 ? r : -EINVAL;
}

/* Does @text look like @form, in which 'd' is a digit and all else is itself? */
static bool has_form(const char *text, const char *form)
{
    for (; *form && *text; form++, text++) {
        if (*form == 'd' ? *text < '0' || *text > '9' : *text != *form)
            return false;
    }
    return *form == '\0' && *text == '\0';
}

/* The calendar's own answer has to be the same day: there is no 30 February. */
static int moment_of(struct tm tm, int offset_s, int64_t *ret_s)
{
    struct tm wanted = tm, back;
    time_t t;

    tm.tm_isdst = 0;
    t = timegm(&tm);
    if (!gmtime_r(&t, &back) || back.tm_year != wanted.tm_year || back.tm_mon != wanted.tm_mon ||
        back.tm_mday != wanted.tm_mday || back.tm_hour != wanted.tm_hour ||
        back.tm_min != wanted.tm_min || back.tm_sec != wanted.tm_sec)
        return -EINVAL;
    if ((int64_t)t - offset_s < 1)
        return -EINVAL;
    *ret_s = (int64_t)t - offset_s;
    return 0;
}

/* Two digits that has_form() has seen. */
static int two(const char *text)
{
    return (text[0] - '0') * 10 + (text[1] - '0');
}

/* "Z" or "+01:00", east of Greenwich is positive. */
static int offset_parse(const char *text, int *ret_s)
{
    bool is_west = text[0] == '-';
    int hours, minutes;

    if (strcmp(text, "Z") == 0) {
        *ret_s = 0;
        return 0;
    }
    if (!has_form(text, is_west ? "-dd:dd" : "+dd:dd"))
        return -EINVAL;
    hours = two(text + 1);
    minutes = two(text + 4);
    if (hours > 23 || minutes > 59)
        return -EINVAL;
    *ret_s = (hours * 60 + minutes) * 60 * (is_west ? -1 : 1);
    return 0;
}

int moment_parse(const char *text, int64_t now_s, int64_t *ret_s)
{
    static const char day_form[] = "dddd-dd-dd", time_form[] = "dddd-dd-ddTdd:dd:dd";
    char head[sizeof(time_form)];
    struct tm tm = {.tm_hour = 23, .tm_min = 59, .tm_sec = 59};
    int64_t duration_s;
    int offset_s = 0, r;

    if (text[0] == '+') {
        r = duration_parse(text + 1, &duration_s);
        if (r == 0)
            *ret_s = now_s + duration_s;
        return r;
    }
    str_cut(head, sizeof(head), text);
    if (strlen(text) >= sizeof(time_form)) {
        r = offset_parse(text + sizeof(time_form) - 1, &offset_s);
        if (r < 0 || !has_form(head, time_form))
            return -EINVAL;
        tm.tm_hour = two(head + 11);
        tm.tm_min = two(head + 14);
        tm.tm_sec = two(head + 17);
    } else if (!has_form(head, day_form)) {
        return -EINVAL;
    }
    tm.tm_year = two(head) * 100 + two(head + 2) - 1900;
    tm.tm_mon = two(head + 5) - 1;
    tm.tm_mday = two(head + 8);
    return moment_of(tm, offset_s, ret_s);
}
