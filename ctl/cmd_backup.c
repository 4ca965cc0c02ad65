/* SPDX-License-Identifier: ISC */
/*
 * cmd_backup.c - atelier backup, restore
 *
 * The api alone opens the registry; it leaves a copy in its directory, or takes one from there, and
 * we carry it between that directory and the admin's file. The directory belongs to the api's user,
 * whom root does not believe: nothing in it is opened through a link, and nothing is written but
 * into a new file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/backup_file.h"
#include "ctl/cmd.h"
#include "ctl/confirm.h"
#include "ctl/say.h"
#include "ctl/tree.h"

#include "common/banned.h"

#define REGISTRY     ATELIER_STATE_DIR "/registry"
#define RESTORE_NAME "restore.db"

static int registry_open(void)
{
    int fd = tree_open_absolute(REGISTRY);

    if (fd < 0)
        say_error("%s: %s", REGISTRY, strerror(-fd));
    return fd;
}

/* --- backup -------------------------------------------------------------------------------- */

/* Return: a descriptor, or a negative errno, and it has been said. */
static int target_open(const char *file)
{
    int fd;

    if (strcmp(file, "-") == 0) {
        if (isatty(STDOUT_FILENO) == 1) {
            say_error("standard output is a terminal: a backup is no text");
            return -EINVAL;
        }
        return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    }
    fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        say_error("%s: %s%s", file, strerror(errno),
                  errno == EEXIST ? "; a backup does not overwrite anything" : "");
    return fd;
}

/* Return: 0 or a negative errno, and it has been said. */
static int backup_carry(const char *name, json_int_t bytes, const char *file, int target)
{
    cleanup_close int dir = registry_open();
    bool is_file = strcmp(file, "-") != 0;
    int r;

    if (dir < 0)
        return dir;
    r = backup_take(dir, name, (uint64_t)bytes, target);
    if (r == 0 && is_file && (fsync(target) < 0 || (r = parent_sync(file)) < 0))
        r = r < 0 ? r : -errno;
    (void)unlinkat(dir, name, 0);
    if (r < 0)
        say_error("cannot copy the backup to %s: %s", is_file ? file : "standard output",
                  r == -EPERM ? "what sessiond-api left is not a file of its own" : strerror(-r));
    return r;
}

int cmd_backup(struct options *opt, int argc, char **argv)
{
    cleanup_json json_t *body = json_object();
    cleanup_answer struct answer a = {0};
    json_int_t bytes, generation, users, groups;
    const char *file = NULL, *name;
    cleanup_close int target = -1;
    struct options quiet;
    json_error_t error;
    enum ctl_exit code;

    if (!body)
        say_no_memory();
    if (args_parse_operand(opt, argc, argv, 0, "FILE|-",
                           "Write a copy of the registry, as of this moment, into a new file.\vThe "
                           "service goes on. The copy has e-mail addresses and the hashes of links "
                           "in it: it is for root alone.",
                           &file) < 0)
        return CTL_USAGE;
    target = target_open(file);
    if (target < 0)
        return target == -EINVAL ? CTL_USAGE : CTL_NO;
    quiet = *opt;
    quiet.json = opt->json && strcmp(file, "-") != 0; /* standard output may be the copy's */
    code = answer_get(&quiet, "POST", "/v1/backup", body, &a);
    if (code == CTL_OK &&
        json_unpack_ex(a.json, &error, 0, "{s:s, s:I, s:I, s:I, s:I}", "file", &name, "bytes",
                       &bytes, "generation", &generation, "users", &users, "groups", &groups) < 0)
        code = answer_is_strange(error.text);
    if (code == CTL_OK && (strchr(name, '/') || strcmp(name, "..") == 0 || bytes < 1))
        code = answer_is_strange("file");
    if (code == CTL_OK && backup_carry(name, bytes, file, target) < 0)
        code = CTL_NO;
    if (code != CTL_OK) {
        if (strcmp(file, "-") != 0)
            (void)unlink(file);
        return (int)code;
    }
    if (!opt->json && strcmp(file, "-") != 0)
        (void)printf("%" JSON_INTEGER_FORMAT " users, %" JSON_INTEGER_FORMAT
                     " groups, generation %" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT
                     " bytes\n",
                     users, groups, generation, bytes);
    return CTL_OK;
}

/* --- restore ------------------------------------------------------------------------------- */

struct restore_args {
    struct options *opt;
    const char *file;
    bool is_dry_run, is_yes;
};

enum {
    OPTION_DRY_RUN = OPTION_OWN,
};

static error_t restore_option_parse(int key, char *arg, struct argp_state *state)
{
    struct restore_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case OPTION_DRY_RUN:
        args->is_dry_run = true;
        return 0;
    case 'y':
        args->is_yes = true;
        return 0;
    case ARGP_KEY_ARG:
        if (args->file) {
            argp_error(state, "'%s' is one argument too many", arg);
            return EINVAL;
        }
        args->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!args->file) {
            argp_error(state, "FILE is missing");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option restore_options[] = {
    {"dry-run", OPTION_DRY_RUN, NULL, 0, "Say what would be, change nothing", 0},
    {"yes", 'y', NULL, 0, "Do not ask", 0},
    {0},
};

static const struct argp restore_argp = {
    .options = restore_options,
    .parser = restore_option_parse,
    .args_doc = "FILE",
    .doc = "Take the users, groups, callers and links from a backup.\vWho came after the backup is "
           "gone then; their names and UIDs are not used again. Links that were open in the backup "
           "are revoked. The state before is kept beside the registry.",
    .children = options_child};

/* What the api would do, or has done. */
static enum ctl_exit restore_print(const struct options *opt, const struct answer *a)
{
    json_int_t users, groups, links;
    json_error_t error;
    json_t *gone, *file = NULL;
    const char *kept;

    if (opt->json)
        return CTL_OK;
    if (json_unpack_ex(a->json, &error, 0, "{s:I, s:I, s:o, s:I, s?o}", "users", &users, "groups",
                       &groups, "gone", &gone, "links_revoked", &links, "kept", &file) < 0)
        return answer_is_strange(error.text);
    (void)printf("%" JSON_INTEGER_FORMAT " users, %" JSON_INTEGER_FORMAT
                 " groups; %" JSON_INTEGER_FORMAT " open links revoked; gone: %zu\n",
                 users, groups, links, json_array_size(gone));
    for (size_t i = 0; i < json_array_size(gone); i++) {
        const char *name = json_text(json_object_get(json_array_get(gone, i), "name"));
        cleanup_free char *shown = text_escape(name, strlen(name), NULL);

        (void)printf("    %s %" JSON_INTEGER_FORMAT "\n", shown,
                     json_integer_value(json_object_get(json_array_get(gone, i), "uid")));
    }
    kept = json_string_value(file); /* null in a rehearsal */
    if (kept) {
        cleanup_free char *shown = text_escape(kept, strlen(kept), NULL);

        (void)printf("the state before is kept: %s/%s\n", REGISTRY, shown);
    }
    return CTL_OK;
}

static enum ctl_exit restore_post(const struct options *opt, bool is_dry_run)
{
    cleanup_json json_t *body = json_pack("{s:b}", "dry_run", is_dry_run);
    cleanup_answer struct answer a = {0};
    enum ctl_exit code;

    if (!body)
        say_no_memory();
    code = answer_get(opt, "POST", "/v1/restore", body, &a);
    return code == CTL_OK ? restore_print(opt, &a) : code;
}

static enum ctl_exit restore_do(const struct restore_args *args)
{
    enum ctl_exit code = restore_post(args->opt, true);

    if (code != CTL_OK || args->is_dry_run)
        return code;
    if (!confirm(args->is_yes, "Restore this?"))
        return CTL_NO;
    return restore_post(args->opt, false);
}

int cmd_restore(struct options *opt, int argc, char **argv)
{
    struct restore_args args = {.opt = opt};
    cleanup_close int source = -1, dir = -1;
    enum ctl_exit code;
    int r;

    if (argp_parse(&restore_argp, argc, argv, 0, NULL, &args) != 0)
        return CTL_USAGE;
    source = open(args.file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (source < 0) {
        say_error("%s: %s", args.file, strerror(errno));
        return CTL_USAGE;
    }
    dir = registry_open();
    if (dir < 0)
        return CTL_NO;
    r = backup_put(dir, RESTORE_NAME, source);
    if (r < 0) {
        say_error("cannot copy %s into %s: %s", args.file, REGISTRY, strerror(-r));
        return CTL_NO;
    }
    code = restore_do(&args);
    (void)unlinkat(dir, RESTORE_NAME, 0);
    return (int)code;
}
