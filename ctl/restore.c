/* SPDX-License-Identifier: ISC */
/* restore.c - a backup that lies before the api: what it would change, the question, and the act.
 */
#include "ctl/restore.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "ctl/answer.h"
#include "ctl/backup_file.h"
#include "ctl/cmd.h"
#include "ctl/confirm.h"
#include "ctl/home_archive.h"
#include "ctl/say.h"
#include "ctl/setup/text.h"

#include "common/banned.h"

struct plan {
    json_int_t users, groups, links;
    json_t *gone, *back, *locked, *callers; /* borrowed from the answer */
    const char *digest, *kept;              /* kept: NULL in a rehearsal */
};

static enum ctl_exit plan_read(const struct answer *a, struct plan *ret)
{
    json_error_t error;
    json_t *kept;

    if (json_unpack_ex(a->json, &error, 0, "{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:s, s:o}", "users",
                       &ret->users, "groups", &ret->groups, "links_revoked", &ret->links, "gone",
                       &ret->gone, "back", &ret->back, "locked", &ret->locked, "callers_dropped",
                       &ret->callers, "digest", &ret->digest, "kept", &kept) < 0)
        return answer_is_strange(error.text);
    ret->kept = json_string_value(kept);
    return CTL_OK;
}

static void line_print(const char *before, const char *text)
{
    cleanup_free char *shown = text_escape(text, strlen(text), NULL);

    (void)printf("%s%s\n", before, shown);
}

static void user_print(const json_t *user)
{
    const char *name = json_text(json_object_get(user, "name"));
    cleanup_free char *shown = text_escape(name, strlen(name), NULL);

    (void)printf("    %-8s %5" JSON_INTEGER_FORMAT "\n", shown,
                 json_integer_value(json_object_get(user, "uid")));
}

static void users_print(const json_t *users, const char *head)
{
    size_t n = json_array_size(users);

    if (n == 0)
        return;
    (void)printf("%s: %zu\n", head, n);
    for (size_t i = 0; i < n; i++)
        user_print(json_array_get(users, i));
}

/* Where the home of somebody who comes back may be. */
static void archive_print(const json_t *user)
{
    const char *name = json_text(json_object_get(user, "name"));
    cleanup_free char *pattern = NULL;
    glob_t found;

    if (!name_is_valid(name))
        return;
    if (asprintf(&pattern, HOME_ARCHIVES "/%s-[0-9]*.tar.gz", name) < 0)
        say_no_memory();
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        line_print("    the home may be in ", found.gl_pathv[i]);
    globfree(&found);
}

static void back_print(const json_t *back)
{
    users_print(back, "come back, as they were removed after the backup, but locked ('atelier user "
                      "unlock NAME' lets them in)");
    for (size_t i = 0; i < json_array_size(back); i++)
        archive_print(json_array_get(back, i));
}

/* The command that makes a caller again, and who that would be today. */
static void caller_print(const json_t *caller)
{
    json_int_t uid = json_integer_value(json_object_get(caller, "uid"));
    const json_t *groups = json_object_get(caller, "groups");
    const json_t *verbs = json_object_get(caller, "verbs");
    cleanup_free char *user = unix_name_of(uid);
    struct text text = {0};
    FILE *out = text_begin(&text);

    (void)fprintf(out, "atelier caller add %" JSON_INTEGER_FORMAT, uid);
    for (size_t i = 0; i < json_array_size(groups); i++)
        (void)fprintf(out, " --group %s", json_text(json_array_get(groups, i)));
    for (size_t i = 0; i < json_array_size(verbs); i++)
        (void)fprintf(out, " --verb %s", json_text(json_array_get(verbs, i)));
    if (strcmp(user, "-") != 0)
        (void)fprintf(out, "    (now: %s)", user);
    text_end(&text, out);
    line_print("    ", text.bytes);
    text_done(&text);
}

static void callers_print(const json_t *callers)
{
    size_t n = json_array_size(callers);

    if (n == 0)
        return;
    (void)printf("programs that do not get the API back, and what would give it to them: %zu\n", n);
    for (size_t i = 0; i < n; i++)
        caller_print(json_array_get(callers, i));
}

static void plan_print(const struct plan *p)
{
    (void)printf("%" JSON_INTEGER_FORMAT " users, %" JSON_INTEGER_FORMAT
                 " groups; %" JSON_INTEGER_FORMAT " open links revoked\n",
                 p->users, p->groups, p->links);
    users_print(p->gone, "gone, as they came after the backup");
    if (json_array_size(p->gone) > 0)
        (void)puts("    their homes stay; an account that was adopted does not become a local one "
                   "again");
    back_print(p->back);
    users_print(p->locked, "stay locked, as they are now");
    callers_print(p->callers);
    (void)puts("homes are in no backup: they stay as they are");
}

static void kept_print(const struct plan *p)
{
    cleanup_free char *path = NULL;

    if (!p->kept)
        return;
    if (asprintf(&path, "%s/%s", REGISTRY, p->kept) < 0)
        say_no_memory();
    line_print("restored; the state before is kept: ", path);
}

/* @digest: NULL for a rehearsal. */
static enum ctl_exit restore_post(const struct restore_args *args, const char *digest,
                                  struct answer *ret, struct plan *ret_plan)
{
    cleanup_json json_t *body = json_pack("{s:b, s:s*}", "dry_run", !digest, "digest", digest);
    struct options quiet = *args->opt;
    enum ctl_exit code;

    if (!body)
        say_no_memory();
    /* One object, or two if somebody is asked between them. */
    quiet.json = args->opt->json && (digest || args->is_dry_run || !args->is_yes);
    code = answer_get(&quiet, "POST", "/v1/restore", body, ret);
    return code == CTL_OK ? plan_read(ret, ret_plan) : code;
}

/* Whether the act was what the rehearsal had said. */
static bool is_as_said(const struct answer *said, const struct answer *done)
{
    static const char *const keys[] = {"users", "groups", "links_revoked",  "gone",
                                       "back",  "locked", "callers_dropped"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!json_equal(json_object_get(said->json, keys[i]), json_object_get(done->json, keys[i])))
            return false;
    }
    return true;
}

enum ctl_exit restore_do(const struct restore_args *args)
{
    cleanup_answer struct answer said = {0}, done = {0};
    struct plan plan, result;
    enum ctl_exit code = restore_post(args, NULL, &said, &plan);

    if (code != CTL_OK)
        return code;
    if (!args->opt->json)
        plan_print(&plan);
    if (args->is_dry_run)
        return CTL_OK;
    (void)fflush(stdout);
    if (!confirm(args->is_yes, "Restore this?"))
        return CTL_NO;
    code = restore_post(args, plan.digest, &done, &result);
    if (code != CTL_OK || args->opt->json)
        return code;
    if (!is_as_said(&said, &done)) {
        (void)puts("meanwhile something changed, and this was done:");
        plan_print(&result);
    }
    kept_print(&result);
    return CTL_OK;
}
