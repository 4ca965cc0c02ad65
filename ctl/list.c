/* SPDX-License-Identifier: ISC */
/* list.c - lists for a person at a terminal, and for whatever else reads them. */
#include "ctl/list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/banned.h"

#define COLUMNS_ELSE 80u /* of a terminal that does not know, as a serial line */

struct list_args {
    struct options *opt;
    bool is_long;
};

static error_t list_option_parse(int key, char *arg, struct argp_state *state)
{
    struct list_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case 'l':
        args->is_long = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is one argument too many", arg);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option list_options[] = {
    {"long", 'l', NULL, 0, "All columns, and nothing cut; as where no terminal is written to", 0},
    {0},
};

int list_parse(struct options *opt, int argc, char **argv, const char *doc, bool *ret_is_short)
{
    struct list_args args = {.opt = opt};
    const struct argp argp = {.options = list_options,
                              .parser = list_option_parse,
                              .doc = doc,
                              .children = options_child};

    if (argp_parse(&argp, argc, argv, 0, NULL, &args) != 0)
        return -EINVAL;
    *ret_is_short = !args.is_long && terminal_columns() > 0;
    return 0;
}

size_t terminal_columns(void)
{
    struct winsize size = {0};

    if (isatty(STDOUT_FILENO) != 1)
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return COLUMNS_ELSE;
    return size.ws_col;
}

void list_print(struct table *t, bool is_short, unsigned cut)
{
    if (is_short)
        table_fit(t, terminal_columns(), cut);
    table_print(t, stdout);
}

/* Whatever the api says that is no time stays as it is. */
static const char *time_cut(const char *time, size_t length, char *buf)
{
    if (strlen(time) < length || time[4] != '-' || strlen(time) >= LIST_TIME_SIZE)
        return time;
    (void)snprintf(buf, LIST_TIME_SIZE, "%.*s", (int)length, time);
    return buf;
}

const char *list_day(const char *time, char buf[static LIST_TIME_SIZE])
{
    return time_cut(time, sizeof("2026-03-01") - 1, buf);
}

const char *list_minute(const char *time, char buf[static LIST_TIME_SIZE])
{
    const char *text = time_cut(time, sizeof("2026-03-01 09:30") - 1, buf);

    if (text == buf && buf[10] == 'T')
        buf[10] = ' ';
    return text;
}
