/* SPDX-License-Identifier: ISC */
/*
 * cmd_user_del.c - atelier user del
 *
 * Order: the api locks the user, ends all runs and sessions, and then removes the row. Only after
 * that is the home touched: nobody can be in it, and nobody gets its owner's UID again. A home that
 * a crash left is found by its name when the same call is made again.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/del_args.h"
#include "ctl/files_elsewhere.h"
#include "ctl/home_archive.h"
#include "ctl/home_image.h"
#include "ctl/local_groups.h"
#include "ctl/named.h"
#include "ctl/say.h"
#include "ctl/setup/file.h"
#include "ctl/setup/processes.h"

#include "common/banned.h"

#define PATIENCE_S  10 /* for runs and sessions to end */
#define FILES_SHOWN 20
#define FILES_MAX                                                                                  \
    10000 /* with --json; how many there are, and how long their paths, others choose */

/* One user, and what is found out on the way: a member of the JSON object for each. */
struct removal {
    const char *name;
    uid_t uid;
    bool is_removed;
    bool is_home_removed;
    size_t file_count; /* of files elsewhere */
    json_t *report;
};

static void report_set(struct removal *x, const char *key, json_t *value)
{
    if (!value || json_object_set_new(x->report, key, value) < 0)
        say_no_memory();
}

/* DELETE until nothing of the user lives. */
static enum ctl_exit user_delete(const struct options *opt, const char *name, struct answer *ret)
{
    int64_t deadline_s = (int64_t)time(NULL) + PATIENCE_S;
    enum ctl_exit code;

    do {
        code = named_fetch(opt, "DELETE", NAMED_USER, name, NULL, ret);
    } while (code == CTL_OK && answer_is_busy(ret, deadline_s));
    return code;
}

/* Whose home, or place of an image, this is. */
static bool is_home_of(const char *name, uid_t *ret_uid)
{
    return (home_owner(ATELIER_HOMES_DIR, name, ret_uid) == 0 && id_is_allocatable(*ret_uid)) ||
           home_image_place(ATELIER_HOMES_DIR, name, ret_uid) == 0;
}

/* The uid of a home whose user is gone already; how it comes to that is said above. */
static bool is_left_home(const char *name, uid_t *ret_uid)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    uid_t uid;

    if (!is_home_of(name, &uid))
        return false;
    if (getpwuid_r(uid, &entry, buffer, sizeof(buffer), &found) != 0 || found)
        return false;
    *ret_uid = uid;
    return true;
}

/* The words that were given, for a command that is to be repeated. */
static const char *home_option(const struct del_args *args)
{
    switch (args->home) {
    case DEL_HOME_KEEP:
        return "";
    case DEL_HOME_ARCHIVE:
        return args->archive ? "--archive=" : "--archive";
    case DEL_HOME_REMOVE:
        return "-r";
    }
    return "";
}

static enum ctl_exit removal_begin(const struct del_args *args, struct removal *x)
{
    cleanup_answer struct answer a = {0};
    json_int_t uid, links;
    json_error_t error;
    enum ctl_exit code = user_delete(args->opt, x->name, &a);

    if (code != CTL_OK)
        return code;
    if (a.http == 404 && args->home != DEL_HOME_KEEP && is_left_home(x->name, &x->uid)) {
        x->is_removed = true;
        report_set(x, "uid", json_integer(x->uid));
        report_set(x, "links_revoked", json_integer(0));
        return CTL_OK;
    }
    code = named_judge(args->opt, NAMED_USER, x->name, &a);
    if (code == CTL_BUSY)
        say_error("%s is locked, but not removed: something of theirs does not end, or sessiond is "
                  "not there to say so ('atelier status'); then 'atelier user del %s%s%s%s' again",
                  x->name, home_option(args), args->archive ? args->archive : "",
                  args->home == DEL_HOME_KEEP ? "" : " ", x->name);
    if (code != CTL_OK)
        return code;
    if (json_unpack_ex(a.json, &error, 0, "{s:I, s:I}", "uid", &uid, "links_revoked", &links) < 0)
        return answer_is_strange(error.text);
    if (uid < ID_ALLOC_MIN || uid > ID_ALLOC_MAX)
        return answer_is_strange("the uid is none of ours");
    x->uid = (uid_t)uid;
    x->is_removed = true;
    report_set(x, "uid", json_integer(uid));
    report_set(x, "links_revoked", json_integer(links));
    return CTL_OK;
}

/* What root itself runs as the user is in no session, and so was not ended. */
static void processes_look(struct removal *x)
{
    struct text list = {0};
    FILE *out = text_begin(&list);
    int n = processes_list("/proc", x->uid, x->uid, out);

    text_end(&list, out);
    report_set(x, "processes", n > 0 ? json_string(list.bytes) : json_null());
    text_done(&list);
}

static void groups_look(struct removal *x)
{
    cleanup_file struct file group = {0};

    if (file_read("/etc/group", &group) < 0)
        group.text = text_of("", 0);
    report_set(x, "local_groups", local_groups_of(&group.text, x->name));
}

static enum ctl_exit home_archive_step(const struct del_args *args, struct removal *x)
{
    cleanup_free char *made = NULL, *why = NULL;
    const char *file = args->archive;

    if (!file)
        file = made = home_archive_path(x->name, x->uid);
    if (!file)
        return CTL_NO;
    if (home_archive(ATELIER_HOMES_DIR, x->name, x->uid, file, &why) < 0) {
        say_error(
            "%s is removed, but the home stays, since there is no archive of it: %s; 'atelier "
            "user del -r %s' removes it without one",
            x->name, why, x->name);
        return CTL_NO;
    }
    report_set(x, "archive", json_string(file));
    return CTL_OK;
}

/* What the home was before it became an image goes first: it is found by the name of the home. */
static int home_away(bool is_image, const struct removal *x, char **ret_why)
{
    int r;

    if (!is_image)
        return home_remove(ATELIER_HOMES_DIR, x->name, x->uid, ret_why);
    r = home_image_old_remove(x->uid, x->name, ret_why);
    return r < 0 ? r : home_image_remove(x->uid, x->name, ret_why);
}

/* A home that is neither a directory nor an image quite becomes one of them. */
static enum ctl_exit home_settle(const struct removal *x)
{
    cleanup_free char *why = NULL;

    if (home_image_settle(x->uid, x->name, &why) == 0)
        return CTL_OK;
    say_error("%s is removed, but the home stays: 'atelier user image' was interrupted, and cannot "
              "be finished: %s",
              x->name, why);
    return CTL_NO;
}

static enum ctl_exit home_step(const struct del_args *args, struct removal *x)
{
    cleanup_free char *why = NULL;
    enum ctl_exit code = home_settle(x);
    uid_t owner;
    int r = home_owner(ATELIER_HOMES_DIR, x->name, &owner);
    bool has_image = home_image_is(x->uid, NULL);
    /* The image goes before its place. */
    bool is_image =
        has_image || (home_image_place(ATELIER_HOMES_DIR, x->name, &owner) == 0 && owner == x->uid);

    report_set(x, "archive", json_null());
    report_set(x, "home",
               r == -ENOENT ? json_null() : json_sprintf("%s/%s", ATELIER_HOMES_DIR, x->name));
    if (code != CTL_OK || (r == -ENOENT && !is_image) || args->home == DEL_HOME_KEEP)
        return code;
    if (has_image && args->home == DEL_HOME_ARCHIVE && home_image_open(x->uid, x->name, &why) < 0) {
        say_error("%s is removed, but the home stays: its image: %s", x->name, why);
        return CTL_NO;
    }
    if (args->home == DEL_HOME_ARCHIVE && has_image == is_image)
        code = home_archive_step(args, x);
    if (code != CTL_OK)
        return code;
    if (home_away(is_image, x, &why) < 0) {
        say_error("%s is removed, but not all of the home: %s", x->name, why);
        return CTL_NO;
    }
    x->is_home_removed = true;
    report_set(x, "home", json_null());
    return CTL_OK;
}

struct search {
    struct removal **removed; /* in the order of the UIDs */
    json_t *unseen;
};

static void on_found(void *arg, size_t i, const char *path)
{
    struct search *search = arg;
    json_t *files = json_object_get(search->removed[i]->report, "files");
    cleanup_free char *shown = NULL;
    json_t *text;

    search->removed[i]->file_count++;
    if (!path)
        return;
    text = json_string(path);
    if (!text) { /* not UTF-8 */
        shown = text_escape(path, strlen(path), NULL);
        text = json_string(shown);
    }
    if (json_array_append_new(files, text) < 0)
        say_no_memory();
}

static void on_unseen(void *arg, const char *path, const char *why)
{
    struct search *search = arg;
    cleanup_free char *shown = text_escape(path, strlen(path), NULL);

    if (json_array_append_new(search->unseen, json_sprintf("%s (%s)", shown, why)) < 0)
        say_no_memory();
}

/* Once for all users. Their own homes are not elsewhere. */
static void files_look(const struct options *opt, struct removal *all, size_t n, json_t *unseen)
{
    cleanup_free struct removal **removed = calloc(n, sizeof(struct removal *));
    cleanup_free uid_t *uids = calloc(n, sizeof(uid_t));
    char **skips = calloc(n + 1, sizeof(char *));
    struct search search = {.removed = removed, .unseen = unseen};
    struct elsewhere w = {.uids = uids,
                          .skips = (const char *const *)skips,
                          .paths_max = opt->json ? FILES_MAX : FILES_SHOWN,
                          .found = on_found,
                          .unseen = on_unseen,
                          .arg = &search};
    int r;

    if (!removed || !uids || !skips)
        say_no_memory();
    for (size_t i = 0; i < n; i++) {
        if (!all[i].is_removed)
            continue;
        if (asprintf(&skips[w.uid_count], "%s/%s", ATELIER_HOMES_DIR, all[i].name) < 0)
            say_no_memory();
        removed[w.uid_count] = &all[i];
        uids[w.uid_count++] = all[i].uid;
        report_set(&all[i], "files", json_array());
    }
    r = w.uid_count > 0 ? files_elsewhere(&w) : 0;
    if (r < 0)
        on_unseen(&search, "/proc/self/mountinfo", strerror(-r));
    for (size_t i = 0; i < w.uid_count; i++)
        report_set(removed[i], "file_count", json_integer((json_int_t)removed[i]->file_count));
    for (size_t i = 0; i < n; i++)
        free(skips[i]);
    free(skips);
}

static void line_print(const char *before, const char *text)
{
    cleanup_free char *shown = text_escape(text, strlen(text), NULL);

    (void)printf("%s%s\n", before, shown);
}

static void files_print(const struct removal *x)
{
    const json_t *files = json_object_get(x->report, "files");
    size_t n = json_array_size(files);

    if (x->file_count == 0) {
        (void)printf("%-8s %5u no files elsewhere\n", x->name, x->uid);
        return;
    }
    (void)printf("%-8s %5u %zu file%s elsewhere:\n", x->name, x->uid, x->file_count,
                 x->file_count == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++)
        line_print("        ", json_text(json_array_get(files, i)));
    if (x->file_count > n)
        (void)printf("        and %zu more: find / -uid %u\n", x->file_count - n, x->uid);
}

static void removal_print(const struct removal *x)
{
    const json_t *groups = json_object_get(x->report, "local_groups");
    const char *home = json_string_value(json_object_get(x->report, "home"));
    const char *archive = json_string_value(json_object_get(x->report, "archive"));
    const char *processes = json_string_value(json_object_get(x->report, "processes"));

    (void)printf("%-8s %5u removed, open links taken back: %" JSON_INTEGER_FORMAT "\n", x->name,
                 x->uid, json_integer_value(json_object_get(x->report, "links_revoked")));
    if (archive)
        line_print("    the home is archived in ", archive);
    if (home)
        line_print("    the home stays: ", home);
    if (x->is_home_removed && !archive)
        (void)printf("    the home was removed: %s/%s\n", ATELIER_HOMES_DIR, x->name);
    else if (!home && !archive)
        (void)puts("    there is no home");
    if (processes) {
        line_print("    processes that are in no session still run: ", processes);
        (void)printf("    to end them: pkill -KILL -U %u\n", x->uid);
    }
    for (size_t i = 0; i < json_array_size(groups); i++) {
        cleanup_free char *command = NULL;

        if (asprintf(&command, "gpasswd -d %s %s", x->name, json_text(json_array_get(groups, i))) <
            0)
            say_no_memory();
        line_print("    a group of /etc/group still names them: ", command);
    }
    (void)fflush(stdout);
}

/* The last and longest step: what was done is on the screen before, and stays done if it is
 * interrupted. */
static void files_step(const struct del_args *args, struct removal *all)
{
    cleanup_json json_t *unseen = json_array();
    size_t removed = 0;

    if (!unseen)
        say_no_memory();
    for (size_t i = 0; i < args->count; i++)
        removed += all[i].is_removed;
    if (removed > 0 && !args->is_no_scan) {
        if (!args->opt->json)
            (void)puts("looking for files elsewhere; Ctrl-C ends nothing but that");
        (void)fflush(stdout);
        files_look(args->opt, all, args->count, unseen);
    }
    for (size_t i = 0; i < args->count; i++) {
        if (!all[i].is_removed)
            continue;
        report_set(&all[i], "not_searched", json_incref(unseen));
        if (args->opt->json)
            json_print_line(all[i].report);
        else if (!args->is_no_scan)
            files_print(&all[i]);
    }
    for (size_t i = 0; !args->opt->json && i < json_array_size(unseen); i++)
        say_error("not searched for files: %s", json_text(json_array_get(unseen, i)));
}

/* Whether all are there, before the first is gone for ever: one of several names may be a slip. */
static enum ctl_exit all_look(const struct del_args *args)
{
    enum ctl_exit first = CTL_OK;

    for (size_t i = 0; args->count > 1 && i < args->count; i++) {
        cleanup_answer struct answer a = {0};
        uid_t uid;
        enum ctl_exit code = named_fetch(args->opt, "GET", NAMED_USER, args->names[i], NULL, &a);

        if (code == CTL_UNAVAILABLE)
            return code;
        if (code == CTL_OK && a.http == 404 && args->home != DEL_HOME_KEEP &&
            is_left_home(args->names[i], &uid))
            continue;
        if (code == CTL_OK)
            code = named_judge(args->opt, NAMED_USER, args->names[i], &a);
        if (first == CTL_OK)
            first = code;
    }
    if (first != CTL_OK)
        say_error("nobody was removed");
    return first;
}

static enum ctl_exit removals_do(const struct del_args *args, struct removal *all)
{
    enum ctl_exit first = CTL_OK;

    for (size_t i = 0; i < args->count; i++) {
        struct removal *x = &all[i];
        enum ctl_exit code;

        x->name = args->names[i];
        x->report = json_pack("{s:s}", "name", x->name);
        if (!x->report)
            say_no_memory();
        code = removal_begin(args, x);
        if (x->is_removed) {
            processes_look(x);
            groups_look(x);
            code = home_step(args, x);
            if (!args->opt->json)
                removal_print(x);
        }
        if (first == CTL_OK)
            first = code;
        if (code == CTL_UNAVAILABLE)
            break;
    }
    files_step(args, all);
    return first;
}

int cmd_user_del(struct options *opt, int argc, char **argv)
{
    struct removal *all;
    struct del_args args;
    enum ctl_exit code;

    if (del_args_parse(opt, argc, argv, 0, &args) < 0)
        return CTL_USAGE;
    for (size_t i = 0; i < args.count; i++) {
        if (!named_check(NAMED_USER, args.names[i]))
            return CTL_USAGE;
    }
    all = calloc(args.count, sizeof(*all));
    if (!all)
        say_no_memory();
    code = all_look(&args);
    if (code == CTL_OK)
        code = removals_do(&args, all);
    for (size_t i = 0; i < args.count; i++)
        json_decref(all[i].report);
    free(all);
    return (int)code;
}
