/* SPDX-License-Identifier: ISC */
/* cmd_adopt.c - atelier adopt: arguments, the question, and what is printed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "ctl/adopt.h"
#include "ctl/cmd.h"
#include "ctl/confirm.h"
#include "ctl/named.h"
#include "ctl/say.h"

#include "common/banned.h"

#define LINES_SHOWN ADOPT_FILES_SHOWN

enum {
    OPTION_NEW_UID = OPTION_OWN,
    OPTION_KEEP_HOME,
    OPTION_DRY_RUN,
    OPTION_NO_SCAN,
};

static error_t adopt_option_parse(int key, char *arg, struct argp_state *state)
{
    struct adopt_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case OPTION_NEW_UID:
        args->is_new_uid = true;
        return 0;
    case OPTION_KEEP_HOME:
        args->is_keep_home = true;
        return 0;
    case OPTION_DRY_RUN:
        args->is_dry_run = true;
        return 0;
    case OPTION_NO_SCAN:
        args->is_no_scan = true;
        return 0;
    case 'y':
        args->is_yes = true;
        return 0;
    case ARGP_KEY_ARG:
        return args_operand(state, arg, &args->name);
    case ARGP_KEY_END:
        if (!args->name) {
            argp_error(state, "NAME is missing");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option adopt_options[] = {
    {"new-uid", OPTION_NEW_UID, NULL, 0, "Give a new UID, even if the account's could be kept", 0},
    {"keep-home", OPTION_KEEP_HOME, NULL, 0, "Leave the home where it is; it is moved by hand", 0},
    {"dry-run", OPTION_DRY_RUN, NULL, 0, "Say what would be, change nothing", 0},
    {"no-scan", OPTION_NO_SCAN, NULL, 0, "Do not look for files of the old UID elsewhere", 0},
    {"yes", 'y', NULL, 0, "Do not ask", 0},
    {0},
};

static const struct argp adopt_argp = {
    .options = adopt_options,
    .parser = adopt_option_parse,
    .args_doc = "NAME",
    .doc = "Make a local account of /etc/passwd a user: it moves into the registry, with its home. "
           "The UID stays if it is one of ours, else all files in the home get a new one.\vRun it "
           "again after a crash: it goes on where it was.",
    .children = options_child};

int adopt_args_parse(struct options *opt, int argc, char **argv, unsigned flags,
                     struct adopt_args *ret_args)
{
    struct adopt_args args = {.opt = opt};

    if (argp_parse(&adopt_argp, argc, argv, flags, NULL, &args) != 0)
        return -EINVAL;
    *ret_args = args;
    return 0;
}

static void line_print(const char *before, const char *text)
{
    cleanup_free char *shown = text_escape(text, strlen(text), NULL);

    (void)printf("%s%s\n", before, shown);
}

static void plan_print(const struct adoption *x)
{
    const struct adopt_record *r = &x->record;
    cleanup_free char *text = NULL;

    if (x->is_begun)
        (void)printf("%s: the adoption was begun, and goes on\n", x->args->name);
    if (!x->args->is_new_uid && id_is_allocatable(r->old_uid))
        (void)printf("%s keeps UID %u", x->args->name, r->old_uid);
    else
        (void)printf("%s gets a new UID instead of %u", x->args->name, r->old_uid);
    (void)puts("; the local account goes, with its password and its local groups");
    if (asprintf(&text, "%s %s %s/%s", r->home,
                 x->args->is_keep_home ? "stays; it belongs at" : "becomes", ATELIER_HOMES_DIR,
                 x->args->name) < 0)
        say_no_memory();
    line_print("    ", text);
}

/* @n: How many there are; the list may have fewer. */
static void list_print(const json_t *list, size_t n, const char *head)
{
    if (n == 0)
        return;
    (void)printf("    %s: %zu\n", head, n);
    for (size_t i = 0; i < json_array_size(list) && i < LINES_SHOWN; i++)
        line_print("        ", json_text(json_array_get(list, i)));
    if (n > LINES_SHOWN)
        (void)printf("        and %zu more; --json shows more\n", n - LINES_SHOWN);
}

static void elsewhere_print(const struct adoption *x)
{
    const struct adopt_record *r = &x->record;
    const char *heir = json_string_value(json_object_get(x->report, "old_uid_is_now"));
    const json_t *unseen = json_object_get(x->report, "not_searched");

    list_print(json_object_get(x->report, "files"), x->file_count,
               "files elsewhere that still belong to the old UID");
    if (heir && x->file_count > 0)
        line_print("    the old UID belongs to another account by now, and so may the files: ",
                   heir);
    else if (x->file_count > 0)
        (void)printf("    to give them: find / -uid %u -exec chown -h %u:%u {} +\n"
                     "    before the next useradd, which may give UID %u to somebody else\n",
                     r->old_uid, r->uid, r->uid, r->old_uid);
    list_print(unseen, json_array_size(unseen), "not searched for files");
}

static void report_print(const struct adoption *x)
{
    const struct adopt_record *r = &x->record;
    cleanup_free char *groups = json_join(json_object_get(x->report, "local_groups"));
    const char *home = json_string_value(json_object_get(x->report, "home"));
    const char *crontab = json_string_value(json_object_get(x->report, "crontab"));
    const json_t *left;

    (void)printf("%-8s %5u adopted, was UID %u\n", x->args->name, r->uid, r->old_uid);
    line_print("    home: ", home ? home : "none; it is made at the first session or run");
    (void)printf(
        "    does not come along: the password, and keys of ssh; 'atelier link mint %s' lets "
        "them in\n",
        x->args->name);
    if (strcmp(groups, "-") != 0)
        line_print("    was in the local groups, and is no more: ", groups);
    if (crontab)
        line_print("    its crontab has no effect any more, and is not to be given away: rm ",
                   crontab);
    left = json_object_get(x->report, "left");
    list_print(left, json_array_size(left), "in the home, but not given to the user");
    (void)fflush(stdout);
}

static void elsewhere_step(struct adoption *x)
{
    if (x->record.uid == x->record.old_uid || x->args->is_no_scan)
        return;
    if (!x->args->opt->json)
        (void)puts("    looking for files of the old UID elsewhere; Ctrl-C ends nothing but that");
    (void)fflush(stdout);
    adopt_elsewhere(x);
    if (!x->args->opt->json)
        elsewhere_print(x);
}

static enum ctl_exit adopt_do(struct adoption *x)
{
    enum ctl_exit code = adopt_look(x);

    if (code != CTL_OK)
        return code;
    if (!x->args->opt->json)
        plan_print(x);
    if (x->args->is_dry_run) {
        if (x->args->opt->json)
            json_print_line(x->report);
        return CTL_OK;
    }
    if (!confirm(x->args->is_yes, "Adopt the account?"))
        return CTL_NO;
    code = adopt_register(x);
    if (code == CTL_OK)
        code = adopt_home_secure(x);
    if (code == CTL_OK)
        code = adopt_forget(x);
    if (code != CTL_OK)
        return code;
    code = adopt_home(x);
    if (!x->args->opt->json)
        report_print(x);
    if (x->is_done)
        elsewhere_step(x);
    if (x->args->opt->json)
        json_print_line(x->report);
    return code;
}

int cmd_adopt(struct options *opt, int argc, char **argv)
{
    cleanup_close int lock = -1;
    cleanup_json json_t *report = json_object();
    struct adopt_args args;
    struct adoption x = {.args = &args, .report = report};
    enum ctl_exit code;
    int r;

    if (!report)
        say_no_memory();
    if (adopt_args_parse(opt, argc, argv, 0, &args) < 0)
        return CTL_USAGE;
    if (!named_check(NAMED_USER, args.name))
        return CTL_USAGE;
    if (geteuid() != 0) {
        say_error("only root can adopt an account");
        return CTL_NOPERM;
    }
    lock = adopt_record_lock(ADOPT_RECORDS);
    if (lock < 0) {
        say_error("%s: %s", ADOPT_RECORDS,
                  lock == -EBUSY   ? "another adoption is under way"
                  : lock == -EPERM ? "not a directory of root's alone"
                                   : strerror(-lock));
        return lock == -EBUSY ? CTL_BUSY : CTL_NO;
    }
    r = adopt_record_read(ADOPT_RECORDS, args.name, &x.record);
    if (r < 0 && r != -ENOENT) {
        say_error("%s/%s.json: %s", ADOPT_RECORDS, args.name, strerror(-r));
        return CTL_NO;
    }
    x.is_begun = r == 0;
    code = adopt_do(&x);
    adopt_record_done(&x.record);
    account_done(&x.account);
    free(x.home);
    return (int)code;
}
