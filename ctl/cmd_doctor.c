/* SPDX-License-Identifier: ISC */
/*
 * cmd_doctor.c - atelier doctor: does everything that this host promises hold?
 *
 * Arguments and output. It looks for itself: no check takes the api's word for what can be seen.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/doctor.h"
#include "ctl/doctor/sweep.h"
#include "ctl/list.h"
#include "ctl/say.h"

#include "common/banned.h"

enum {
    OPTION_SHORT = OPTION_OWN,
    OPTION_LIST,
    OPTION_SWEEP,
};

static error_t doctor_option_parse(int key, char *arg, struct argp_state *state)
{
    struct doctor_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case OPTION_SHORT:
        args->is_short = true;
        return 0;
    case OPTION_LIST:
        args->is_list = true;
        return 0;
    case OPTION_SWEEP:
        args->is_sweep = true;
        return 0;
    case ARGP_KEY_ARGS:
        args->selected = (const char *const *)&state->argv[state->next];
        args->selected_count = (size_t)(state->argc - state->next);
        for (size_t i = 0; i < args->selected_count; i++) {
            if (!doctor_is_known(args->selected[i])) {
                argp_error(state, "there is no check or group of checks '%s' (--list)",
                           args->selected[i]);
                return EINVAL;
            }
        }
        state->next = state->argc;
        return 0;
    case ARGP_KEY_ARG:
        /* All of them at once, above. */
        return ARGP_ERR_UNKNOWN;
    default:
        (void)arg;
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option doctor_table[] = {
    {"short", OPTION_SHORT, NULL, 0, "Only what must not be wrong when the services start", 0},
    {"list", OPTION_LIST, NULL, 0, "Print which checks there are, and look at nothing", 0},
    {"sweep", OPTION_SWEEP, NULL, 0,
     "Remove what a doctor that was killed has left, and look at nothing", 0},
    {0},
};

static const struct argp doctor_argp = {
    .options = doctor_table,
    .parser = doctor_option_parse,
    .args_doc = "[GROUP|CHECK...]",
    .doc = "Look whether everything that this host promises holds, by trying it. Each check is a "
           "line: the verdict, what was seen, and what mends it.\v"
           "Exit status: 0 all is well, warnings included; 1 a check failed, or could not find "
           "out; 77 not root. See atelier-doctor(8).",
    .children = options_child,
};

int doctor_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                      struct doctor_args *ret)
{
    struct doctor_args args = {.opt = opt};

    if (argp_parse(&doctor_argp, argc, argv, flags, NULL, &args) != 0)
        return -EINVAL;
    *ret = args;
    return 0;
}

#define LIST_GAP 2

static void checks_print(const struct doctor_args *args)
{
    const size_t columns = terminal_columns();
    size_t group_width = 0, id_width = 0;

    for (size_t i = 0; i < doctor_check_count; i++) {
        const struct doctor_check *check = &doctor_checks[i];
        size_t group = strlen(doctor_group_word(check->group)), id = strlen(check->id);

        if (!doctor_is_selected(args, check))
            continue;
        group_width = group > group_width ? group : group_width;
        id_width = id > id_width ? id : id_width;
    }
    for (size_t i = 0; i < doctor_check_count; i++) {
        const struct doctor_check *check = &doctor_checks[i];
        int at;

        if (!doctor_is_selected(args, check))
            continue;
        at = printf("%-*s%*s%-*s%*s%-5s%*s", (int)group_width, doctor_group_word(check->group),
                    LIST_GAP, "", (int)id_width, check->id, LIST_GAP, "",
                    check->is_short ? "short" : "", LIST_GAP, "");
        report_wrap(stdout, check->what, at > 0 ? (size_t)at : 0, columns);
    }
}

/* One object, as of a run: {"checks": [...]}, without what only a run knows. */
static void checks_print_json(const struct doctor_args *args)
{
    cleanup_json json_t *json = json_pack("{s:[]}", "checks");
    json_t *checks = json_object_get(json, "checks");

    for (size_t i = 0; i < doctor_check_count; i++) {
        const struct doctor_check *check = &doctor_checks[i];

        if (doctor_is_selected(args, check) &&
            json_array_append_new(checks, json_pack("{s:s, s:s, s:b, s:s, s:s}", "id", check->id,
                                                    "group", doctor_group_word(check->group),
                                                    "short", check->is_short, "what", check->what,
                                                    "mend", check->mend)) < 0)
            say_no_memory();
    }
    json_print_line(json);
}

/* Source: https://no-color.org. */
static bool is_coloured(void)
{
    const char *no = secure_getenv("NO_COLOR"), *terminal = secure_getenv("TERM");

    return isatty(STDOUT_FILENO) == 1 && (!no || !no[0]) && terminal &&
           strcmp(terminal, "dumb") != 0;
}

/* Whether standard output is the journal's. Source: systemd.exec(5), JOURNAL_STREAM. */
static bool is_journal(void)
{
    const char *stream = secure_getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat st;

    return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
           fstat(STDOUT_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

int cmd_doctor(struct options *opt, int argc, char **argv)
{
    cleanup_report struct report report = {0};
    struct doctor_args args;

    if (doctor_args_parse(opt, argc, argv, 0, &args) < 0)
        return CTL_USAGE;
    if (args.is_list && opt->json)
        checks_print_json(&args);
    else if (args.is_list)
        checks_print(&args);
    if (args.is_list)
        return CTL_OK;
    if (geteuid() != 0) {
        say_error("doctor is for root: it becomes a participant, and looks into what is root's");
        return CTL_NOPERM;
    }
    if (args.is_sweep) {
        int r = sweep_all(stdout);

        if (r < 0)
            say_error("/proc: %s", strerror(-r));
        return r < 0 ? CTL_NO : CTL_OK;
    }
    doctor_examine(&args, &report);
    if (opt->json)
        report_print_json(&report);
    else
        report_print(&report, stdout,
                     &(struct report_form){.columns = terminal_columns(),
                                           .is_colour = is_coloured(),
                                           .is_journal = is_journal()});
    return report_is_well(&report) ? CTL_OK : CTL_NO;
}
