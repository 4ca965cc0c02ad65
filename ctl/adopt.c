/* SPDX-License-Identifier: ISC */
/*
 * adopt.c - the steps of `atelier adopt`, each of which can be taken again.
 *
 *   record    before anything else, so that a crash does not leave two people of one name
 *   register  the api makes the user; from here on name and UID are the registry's for ever
 *   secure    the home is moved, or closed where it is: without the account its UID is free, and
 *             useradd(8) may give it to somebody at once
 *   forget    userdel(8) takes the account away; until then the local line hides the user
 *   home      given to the new UID, and opened
 *   record    removed
 *
 * The other order, the account first, would leave a name that useradd(8) could give to somebody
 * else.
 */
#include "ctl/adopt.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "ctl/adopt_home.h"
#include "ctl/files_elsewhere.h"
#include "ctl/local_groups.h"
#include "ctl/named.h"
#include "ctl/say.h"
#include "ctl/setup/accounts.h"
#include "ctl/setup/file.h"
#include "ctl/setup/processes.h"
#include "ctl/setup/program.h"

#include "common/banned.h"

#define PASSWD     "/etc/passwd"
#define GROUP      "/etc/group"
#define SHELLS     "/etc/shells"
#define CRONTABS   "/var/spool/cron/crontabs"
#define USERDEL    "/usr/sbin/userdel"
#define FILES_MAX  10000 /* as for user del */
#define HEIR_SIZE  65536 /* of the texts of a passwd(5) line */
#define USERDEL_S  60
#define PATIENCE_S 10 /* for the lock of the account files */

static void report_set(struct adoption *x, const char *key, json_t *value)
{
    if (!value || json_object_set_new(x->report, key, value) < 0)
        say_no_memory();
}

static json_t *text_json(const char *text)
{
    json_t *json = json_string(text);

    if (!json) { /* not UTF-8 */
        cleanup_free char *shown = text_escape(text, strlen(text), NULL);

        json = json_string(shown);
    }
    return json;
}

/* Return: CTL_OK also if the name is not in the file; then x->account has none. */
static enum ctl_exit account_look(struct adoption *x)
{
    cleanup_file struct file passwd = {0}, group = {0};
    const char *name = x->args->name;
    cleanup_free char *why = NULL;
    int r = file_read(PASSWD, &passwd);

    if (r == 0)
        r = file_read(GROUP, &group);
    if (r < 0) {
        say_error("%s, %s: %s", PASSWD, GROUP, strerror(-r));
        return CTL_NO;
    }
    r = account_get(&passwd.text, name, &x->account);
    if (r == -EINVAL) {
        say_error("the line of '%s' in %s cannot be read; pwck(8) mends it", name, PASSWD);
        return CTL_NO;
    }
    report_set(x, "local_groups", local_groups_of(&group.text, name));
    if (r == -ENOENT)
        return CTL_OK;
    why = account_judge(&x->account, &passwd.text, &group.text);
    if (!why)
        return CTL_OK;
    say_error("%s", why);
    return CTL_NO;
}

static enum ctl_exit processes_check(const struct adoption *x, uint32_t uid)
{
    struct text list = {0};
    FILE *out = text_begin(&list);
    int n = processes_list("/proc", uid, uid, out);

    text_end(&list, out);
    if (n > 0)
        say_error("%s still runs: %s; 'pkill -KILL -U %u' ends it, 'loginctl terminate-user %s' "
                  "ends a login",
                  x->args->name, list.bytes, uid, x->args->name);
    else if (n < 0)
        say_error("/proc: %s", strerror(-n));
    text_done(&list);
    return n == 0 ? CTL_OK : CTL_NO;
}

/* The user of this name. Return: CTL_OK with *@ret_uid 0 if there is none. */
static enum ctl_exit user_look(const struct adoption *x, uint32_t *ret_uid, int64_t *ret_created_s)
{
    cleanup_answer struct answer a = {0};
    json_int_t uid, created_s;
    enum ctl_exit code;

    code = named_fetch(x->args->opt, "GET", NAMED_USER, x->args->name, NULL, &a);
    if (code != CTL_OK)
        return code;
    *ret_uid = 0;
    if (a.http == 404)
        return CTL_OK;
    code = named_judge(x->args->opt, NAMED_USER, x->args->name, &a);
    if (code != CTL_OK)
        return code;
    if (json_unpack(a.json, "{s:I, s:I}", "uid", &uid, "created_s", &created_s) < 0 ||
        uid < ID_ALLOC_MIN || uid > ID_ALLOC_MAX)
        return answer_is_strange("the user");
    *ret_uid = (uint32_t)uid;
    *ret_created_s = created_s;
    return CTL_OK;
}

static enum ctl_exit begin_look(struct adoption *x)
{
    const char *name = x->args->name;
    int64_t created_s = 0;
    uint32_t uid = 0;
    enum ctl_exit code;

    code = user_look(x, &uid, &created_s);
    if (code != CTL_OK)
        return code;
    if (!x->account.name && uid != 0) {
        say_error("'%s' is a user already (UID %u); there is no account of this name in %s", name,
                  uid, PASSWD);
        return CTL_NO;
    }
    if (!x->account.name) {
        say_error("there is no account '%s' in %s; 'atelier user add --name %s' makes a new user, "
                  "unless there was one of this name before",
                  name, PASSWD, name);
        return CTL_NO;
    }
    if (uid != 0) {
        say_error(
            "there is a user '%s' (UID %u) already, who is somebody else: 'usermod -l NEW %s' "
            "gives the account another name",
            name, uid, name);
        return CTL_NO;
    }
    x->record = (struct adopt_record){.old_uid = x->account.uid,
                                      .old_gid = x->account.gid,
                                      .created_s = (int64_t)time(NULL),
                                      .home = strdup(x->account.home)};
    if (!x->record.home)
        say_no_memory();
    return processes_check(x, x->account.uid);
}

/**
 * heir_of() - Who has the old UID now that the account is gone
 * @ret_name: Heap; NULL if nobody has it
 *
 * Return: 0, or a negative errno if it cannot be found out.
 */
static int heir_of(const struct adoption *x, char **ret_name)
{
    cleanup_free char *buffer = calloc(1, HEIR_SIZE);
    struct passwd entry, *found = NULL;
    int r;

    *ret_name = NULL;
    if (!buffer)
        say_no_memory();
    if (x->record.old_uid == x->record.uid)
        return 0;
    r = getpwuid_r(x->record.old_uid, &entry, buffer, HEIR_SIZE, &found);
    if (!found)
        return r == ENOENT || r == ESRCH ? 0 : -r;
    if (strcmp(found->pw_name, x->args->name) == 0)
        return 0;
    *ret_name = strdup(found->pw_name);
    if (!*ret_name)
        say_no_memory();
    return 0;
}

/* Files of two people with one UID cannot be told apart. */
static enum ctl_exit heir_check(const struct adoption *x)
{
    cleanup_free char *heir = NULL;
    int r = heir_of(x, &heir);

    if (r < 0)
        say_error("whose UID %u is now cannot be found out: %s", x->record.old_uid, strerror(-r));
    if (heir)
        say_error("UID %u was that of '%s', and is '%s' by now: whose files are whose cannot be "
                  "told any more; 'usermod -u NEW %s' gives the account another UID, then 'atelier "
                  "adopt %s' again",
                  x->record.old_uid, x->args->name, heir, heir, x->args->name);
    return r < 0 || heir ? CTL_NO : CTL_OK;
}

/* Somebody was here before us. What is true now? */
static enum ctl_exit again_look(struct adoption *x)
{
    const char *name = x->args->name;
    int64_t created_s = 0;
    uint32_t uid = 0;
    enum ctl_exit code;

    if (x->account.name && x->account.uid != x->record.old_uid) {
        say_error("the account '%s' has UID %u, but had %u when its adoption was begun; remove "
                  "%s/%s.json if that is right",
                  name, x->account.uid, x->record.old_uid, ADOPT_RECORDS, name);
        return CTL_NO;
    }
    code = user_look(x, &uid, &created_s);
    if (code != CTL_OK)
        return code;
    if (x->record.uid == 0 && uid != 0 && x->account.name && created_s >= x->record.created_s)
        x->record.uid = uid; /* the answer was lost */
    if (x->record.uid != uid || (uid == 0 && !x->account.name)) {
        say_error("the adoption of '%s' that was begun cannot go on: the user or the account is "
                  "another one by now; remove %s/%s.json",
                  name, ADOPT_RECORDS, name);
        return CTL_NO;
    }
    code = heir_check(x);
    if (code != CTL_OK)
        return code;
    /* With a UID that is kept they are the user's by now. */
    return x->record.old_uid == x->record.uid ? CTL_OK : processes_check(x, x->record.old_uid);
}

enum ctl_exit adopt_look(struct adoption *x)
{
    enum ctl_exit code = account_look(x);

    if (code == CTL_OK)
        code = x->is_begun ? again_look(x) : begin_look(x);
    if (code != CTL_OK)
        return code;
    report_set(x, "name", json_string(x->args->name));
    report_set(x, "old_uid", json_integer(x->record.old_uid));
    report_set(x, "home", text_json(x->record.home));
    return CTL_OK;
}

/* --- the registry -------------------------------------------------------------------------- */

static json_t *register_body(const struct adoption *x)
{
    const struct account *a = &x->account;
    cleanup_file struct file shells = {0};
    json_t *body = json_pack("{s:s, s:b}", "name", x->args->name, "adopt", 1);
    size_t n = strcspn(a->gecos, ",");
    json_t *comment = n > 0 ? json_stringn(a->gecos, n) : NULL; /* NULL too: it is not UTF-8 */

    if (!body)
        say_no_memory();
    if (!x->args->is_new_uid && id_is_allocatable(a->uid) &&
        json_object_set_new(body, "uid", json_integer(a->uid)) < 0)
        say_no_memory();
    if (comment && json_object_set_new(body, "comment", comment) < 0)
        say_no_memory();
    if (file_read(SHELLS, &shells) == 0 && shells.text.bytes &&
        shell_is_chosen(&shells.text, a->shell) &&
        json_object_set_new(body, "shell", json_string(a->shell)) < 0)
        say_no_memory();
    return body;
}

static enum ctl_exit record_store(const struct adoption *x)
{
    int r = adopt_record_write(ADOPT_RECORDS, x->args->name, &x->record);

    if (r == 0)
        return CTL_OK;
    say_error("%s/%s.json: %s", ADOPT_RECORDS, x->args->name, strerror(-r));
    return CTL_NO;
}

enum ctl_exit adopt_register(struct adoption *x)
{
    int64_t deadline_s = (int64_t)time(NULL) + PATIENCE_S;
    cleanup_json json_t *body = NULL;
    cleanup_answer struct answer a = {0};
    enum ctl_exit code;
    json_int_t uid;

    if (x->record.uid != 0)
        return record_store(x);
    code = record_store(x);
    if (code != CTL_OK)
        return code;
    body = register_body(x);
    do {
        code = answer_fetch(x->args->opt, "POST", "/v1/users", body, &a);
    } while (code == CTL_OK && answer_is_busy(&a, deadline_s));
    if (code != CTL_OK) /* it may have been done all the same: the record stays */
        return code;
    code = named_judge(x->args->opt, NAMED_USER, x->args->name, &a);
    if (code != CTL_OK) {
        if (a.http >= 400 && a.http < 500)
            (void)adopt_record_remove(ADOPT_RECORDS, x->args->name);
        say_error("%s stays a local account", x->args->name);
        return code;
    }
    if (json_unpack(a.json, "{s:I}", "uid", &uid) < 0 || uid < ID_ALLOC_MIN || uid > ID_ALLOC_MAX)
        return answer_is_strange("uid");
    x->record.uid = (uint32_t)uid;
    return record_store(x);
}

/* --- the home, before ---------------------------------------------------------------------- */

static struct adopt_ids ids_of(const struct adoption *x)
{
    return (struct adopt_ids){
        .old_uid = x->record.old_uid, .old_gid = x->record.old_gid, .uid = x->record.uid};
}

static char *target_path(const struct adoption *x)
{
    char *path;

    if (asprintf(&path, "%s/%s", ATELIER_HOMES_DIR, x->args->name) < 0)
        say_no_memory();
    return path;
}

/* A home that was never the account's own, as "/" or a directory of root's: there is nothing to do.
 */
static bool is_foreign(int r)
{
    return r == -EPERM || r == -ELOOP || r == -ENOTDIR;
}

/* Know it again, whatever happens to it. */
static enum ctl_exit home_mark(struct adoption *x, const char *path)
{
    const struct adopt_ids ids = ids_of(x);

    if (x->record.mark.ino != 0 || adopt_home_look(path, &ids, &x->record.mark) < 0)
        return CTL_OK;
    return record_store(x);
}

static char *text_move(char **from)
{
    char *text = *from;

    *from = NULL;
    return text;
}

/* Where the home is now. Heap. */
static char *home_move(struct adoption *x)
{
    const struct adopt_ids ids = ids_of(x);
    cleanup_free char *target = target_path(x), *home = strdup(x->record.home), *why = NULL;
    int r;

    if (!home)
        say_no_memory();
    if (adopt_home_is(target, &x->record.mark))
        return text_move(&target);
    if (x->args->is_keep_home)
        return text_move(&home);
    r = adopt_home_move(home, ATELIER_HOMES_DIR, x->args->name, &ids, &x->record.mark, &why);
    if (why) {
        say_error("%s", why);
        x->is_home_left = true;
    }
    /* Not there: it never was, or was moved by hand. */
    return r == 0 || r == -ENOENT ? text_move(&target) : text_move(&home);
}

enum ctl_exit adopt_home_secure(struct adoption *x)
{
    const struct adopt_ids ids = ids_of(x);
    enum ctl_exit code = CTL_OK;
    int r = 0;

    /* There was time to log in while the question was open. */
    if (x->account.name && ids.uid != ids.old_uid)
        code = processes_check(x, ids.old_uid);
    if (code == CTL_OK)
        code = home_mark(x, x->record.home);
    if (code != CTL_OK)
        return code;
    x->home = home_move(x);
    code = home_mark(x, x->home);
    /* Also with a UID that is kept: the user is one of ours by now, and could start a run. */
    if (code == CTL_OK && x->record.mark.ino != 0)
        r = adopt_home_close(x->home, &ids, &x->record.mark);
    if (r < 0 && r != -ENOENT && !is_foreign(r)) {
        say_error("%s cannot be closed: %s; mend it, then 'atelier adopt %s' again", x->home,
                  strerror(-r), x->args->name);
        code = CTL_NO;
    }
    return code;
}

/* --- the account --------------------------------------------------------------------------- */

/* What counts: of an adoption that was killed, userdel(8) may have gone on, and come before ours.
 */
static bool account_is_gone(const struct adoption *x)
{
    cleanup_file struct file passwd = {0};
    cleanup_account struct account account = {0};

    return file_read(PASSWD, &passwd) == 0 && passwd.text.bytes &&
           account_get(&passwd.text, x->args->name, &account) == -ENOENT;
}

enum ctl_exit adopt_forget(struct adoption *x)
{
    cleanup_text struct text output = {0};
    cleanup_file struct file group = {0};
    cleanup_free char *why = NULL;
    uint32_t gid;
    int r;

    report_set(x, "uid", json_integer(x->record.uid));
    if (!x->account.name)
        return CTL_OK;
    r = program_run(ARGV(USERDEL, x->args->name), USERDEL_S, &output);
    if (r != 0 && !account_is_gone(x)) {
        why = program_why(r, &output);
        say_error(
            "%s is a user now, but userdel(8) does not remove the local account: %s; mend it, "
            "then 'atelier adopt %s' again",
            x->args->name, why, x->args->name);
        return CTL_NO;
    }
    if (file_read(GROUP, &group) == 0 && group.text.bytes &&
        account_find(&group.text, x->args->name, &gid, NULL) == 0)
        say_error("a group '%s' is still in %s, before the user's own: 'groupdel %s'",
                  x->args->name, GROUP, x->args->name);
    return CTL_OK;
}

/* --- the files ----------------------------------------------------------------------------- */

static void list_add(json_t *list, const char *path, const char *why)
{
    cleanup_free char *shown = text_escape(path, strlen(path), NULL);

    if (json_array_append_new(list, json_sprintf("%s (%s)", shown, why)) < 0)
        say_no_memory();
}

static void on_left(void *arg, const char *path, const char *why)
{
    list_add(json_object_get(arg, "left"), path, why);
}

static void on_unseen(void *arg, const char *path, const char *why)
{
    const struct adoption *x = arg;

    list_add(json_object_get(x->report, "not_searched"), path, why);
}

static void on_found(void *arg, size_t i, const char *path)
{
    struct adoption *x = arg;

    (void)i;
    x->file_count++;
    if (path && json_array_append_new(json_object_get(x->report, "files"), text_json(path)) < 0)
        say_no_memory();
}

/* Their files are among those that are listed. */
static void heir_look(struct adoption *x)
{
    cleanup_free char *heir = NULL;

    (void)heir_of(x, &heir);
    report_set(x, "old_uid_is_now", heir ? text_json(heir) : json_null());
}

void adopt_elsewhere(struct adoption *x)
{
    const uid_t uid = x->record.old_uid;
    const char *const skips[] = {x->home, NULL};
    struct elsewhere w = {.uids = &uid,
                          .uid_count = 1,
                          .skips = skips,
                          .paths_max = x->args->opt->json ? FILES_MAX : ADOPT_FILES_SHOWN,
                          .found = on_found,
                          .unseen = on_unseen,
                          .arg = x};
    int r;

    report_set(x, "files", json_array());
    report_set(x, "not_searched", json_array());
    r = files_elsewhere(&w);
    if (r < 0)
        on_unseen(x, "/proc/self/mountinfo", strerror(-r));
    report_set(x, "file_count", json_integer((json_int_t)x->file_count));
    heir_look(x);
}

static void crontab_look(struct adoption *x)
{
    cleanup_free char *path = NULL;

    if (asprintf(&path, "%s/%s", CRONTABS, x->args->name) < 0)
        say_no_memory();
    report_set(x, "crontab", access(path, F_OK) == 0 ? json_string(path) : json_null());
}

enum ctl_exit adopt_home(struct adoption *x)
{
    const struct adopt_ids ids = ids_of(x);
    const struct adopt_report report = {.left = on_left, .arg = x->report};
    cleanup_free char *target = target_path(x);
    mode_t mode = strcmp(x->home, target) == 0 ? 0700 : x->record.mark.mode;
    enum ctl_exit code = x->is_home_left ? CTL_NO : CTL_OK;
    int r;

    report_set(x, "left", json_array());
    r = adopt_home_own(x->home, &ids, &x->record.mark, mode, &report);
    if (is_foreign(r)) {
        if (!x->is_home_left)
            say_error("%s stays as it is: it is not a directory of the account", x->home);
        code = CTL_NO;
    } else if (r < 0 && r != -ENOENT) {
        say_error("%s is not given to UID %u: %s; then 'atelier adopt %s' again", x->home, ids.uid,
                  strerror(-r), x->args->name);
        return CTL_NO;
    }
    report_set(x, "home", r < 0 ? json_null() : text_json(x->home));
    crontab_look(x);
    heir_look(x);
    r = adopt_record_remove(ADOPT_RECORDS, x->args->name);
    if (r < 0) {
        say_error("%s/%s.json: %s", ADOPT_RECORDS, x->args->name, strerror(-r));
        return CTL_NO;
    }
    x->is_done = true;
    return code;
}
