/* SPDX-License-Identifier: ISC */
/*
 * cmd_skill.c - atelier skill add, skill list, skill show, skill verify, skill del
 *
 * The store is root's, and sessiond reads it: what these commands do, they do to files of root, and
 * no daemon is asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/list.h"
#include "ctl/say.h"
#include "ctl/skill_store.h"
#include "ctl/skill_use.h"
#include "ctl/table.h"
#include "ctl/tree.h"

#include "common/banned.h"

#define POLICY_IN_FORCE ATELIER_RUN_DIR "/policy"
#define COLUMNS         6
#define HASH_SHOWN      12 /* digits in a short list; enough for any host */

static int root_ask(void)
{
    if (geteuid() == 0)
        return CTL_OK;
    say_error("only root changes the skills of a host");
    return CTL_NOPERM;
}

/* --- one version ----------------------------------------------------------------------------- */

static enum ctl_exit policy_open(FILE **ret_policy)
{
    *ret_policy = fopen(POLICY_IN_FORCE, "re");
    if (*ret_policy || errno == ENOENT)
        return CTL_OK;
    say_error("%s: %s", POLICY_IN_FORCE, strerror(errno));
    return CTL_INTERNAL;
}

/* Profiles in force that name it; null where no sessiond has shown any. */
static enum ctl_exit uses_of(const char *pinned, json_t **ret_names)
{
    enum ctl_exit code;
    FILE *policy;
    int r = 0;

    *ret_names = json_null();
    code = policy_open(&policy);
    if (code != CTL_OK || !policy)
        return code;
    r = skill_use(policy, pinned, ret_names);
    (void)fclose(policy);
    if (r == 0)
        return CTL_OK;
    say_error("%s: %s", POLICY_IN_FORCE, strerror(-r));
    return CTL_INTERNAL;
}

static int size_add(void *arg, enum tree_visit visit, const struct tree_entry *e)
{
    struct skill_tree *sum = arg;

    if (visit == TREE_FILE) {
        sum->files++;
        sum->bytes += (uint64_t)e->st.st_size;
    }
    return 0;
}

struct looking {
    const struct skill_store *store;
    json_t *skills; /* array, borrowed */
};

static enum ctl_exit skill_look(void *arg, const char *pinned, int dir)
{
    const struct looking *l = arg;
    char name[NAME_SIZE], newest[SKILL_SIZE];
    struct skill_tree sum = {0};
    enum ctl_exit code;
    json_t *uses, *one;
    struct stat st;
    int r = tree_walk(dir, pinned, size_add, &sum);

    if (r < 0 || fstat(dir, &st) < 0) {
        say_error("%s: %s", pinned, strerror(r < 0 ? -r : errno));
        return CTL_INTERNAL;
    }
    code = uses_of(pinned, &uses);
    if (code != CTL_OK)
        return code;
    skill_name(pinned, name);
    skill_store_newest(l->store, name, newest);
    one = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:o}", "skill", pinned, "name", name,
                    "hash", pinned + strlen(name) + 1, "files", (json_int_t)sum.files, "bytes",
                    (json_int_t)sum.bytes, "added_s", (json_int_t)st.st_mtime, "newest",
                    strcmp(newest, pinned) == 0, "profiles", uses);
    if (!one || json_array_append_new(l->skills, one) < 0)
        say_no_memory();
    return CTL_OK;
}

/* What the store has. @text: as of skill_store_each(). */
static enum ctl_exit skills_look(const char *text, json_t **ret_skills)
{
    cleanup_skill_store struct skill_store store = {.dir = -1, .lock = -1};
    cleanup_json json_t *skills = json_array();
    struct looking looking = {.store = &store, .skills = skills};
    char found[SKILL_SIZE];
    enum ctl_exit code;

    if (!skills)
        say_no_memory();
    code = skill_store_open(SKILL_STORE, false, &store);
    if (code == CTL_OK && text && strchr(text, '@')) {
        code = skill_store_find(&store, text, found);
        text = found;
    } else if (code == CTL_OK && text) {
        skill_store_newest(&store, text, found);
        text = found[0] ? found : text;
    }
    if (code != CTL_OK)
        return code;
    code = skill_store_each(&store, text, skill_look, &looking);
    if (code == CTL_OK)
        *ret_skills = json_incref(skills);
    return code;
}

static bool operand_is_valid(const char *text)
{
    if (skill_store_names(text))
        return true;
    say_error("'%s' is not NAME or NAME@HASH, nor NAME@ and the first digits of one", text);
    return false;
}

/* --- add ------------------------------------------------------------------------------------- */

struct add_args {
    struct options *opt;
    const char *name, *dir;
};

static error_t add_option_parse(int key, char *arg, struct argp_state *state)
{
    struct add_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case 'n':
        args->name = arg;
        return 0;
    case ARGP_KEY_ARG:
        return args_operand(state, arg, &args->dir);
    case ARGP_KEY_END:
        if (!args->dir)
            argp_error(state, "DIR is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option add_options[] = {
    {"name", 'n', "NAME", 0, "Name of the skill [that of the directory]", 0},
    {0},
};

static const struct argp add_argp = {
    .options = add_options,
    .parser = add_option_parse,
    .args_doc = "DIR",
    .doc =
        "Keep a copy of a directory of scripts, as the newest version of a skill.\vProfiles name "
        "it (atelier.conf(5), skills); from the next reload of sessiond on it is in the runs and "
        "sessions that have it, read-only, as /skills/NAME.",
    .children = options_child};

/* That of the directory, wherever "." or a link leads. Heap, or NULL, and it was said. */
static char *name_of(const char *dir)
{
    cleanup_free char *real = realpath(dir, NULL);
    char *name;

    if (!real) {
        say_error("%s: %s", dir, strerror(errno));
        return NULL;
    }
    name = strdup(strrchr(real, '/') + 1);
    if (!name)
        say_no_memory();
    return name;
}

static enum ctl_exit add(const struct options *opt, const char *name, const char *path, int from)
{
    cleanup_skill_store struct skill_store store = {.dir = -1, .lock = -1};
    cleanup_json json_t *json = NULL;
    char pinned[SKILL_SIZE];
    struct skill_tree tree;
    enum ctl_exit code;
    bool is_new;

    code = skill_store_open(SKILL_STORE, true, &store);
    if (code == CTL_OK)
        code = skill_store_add(&store, name, from, path, pinned, &tree, &is_new);
    if (code != CTL_OK)
        return code;
    if (!opt->json) {
        (void)printf("%s\n", pinned);
        return CTL_OK;
    }
    json = json_pack("{s:s, s:b, s:I, s:I}", "skill", pinned, "new", is_new, "files",
                     (json_int_t)tree.files, "bytes", (json_int_t)tree.bytes);
    if (!json)
        say_no_memory();
    json_print_line(json);
    return CTL_OK;
}

int cmd_skill_add(struct options *opt, int argc, char **argv)
{
    struct add_args args = {.opt = opt};
    cleanup_free char *own_name = NULL;
    cleanup_close int from = -1;
    int code;

    if (argp_parse(&add_argp, argc, argv, 0, NULL, &args) != 0)
        return CTL_USAGE;
    code = root_ask();
    if (code != CTL_OK)
        return code;
    from = open(args.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (from < 0) {
        say_error("%s: %s", args.dir, strerror(errno));
        return CTL_NO;
    }
    if (!args.name) {
        args.name = own_name = name_of(args.dir);
        if (!own_name)
            return CTL_NO;
    }
    if (!name_is_valid(args.name)) {
        say_error("'%s' is no name for a skill: lower-case letters, digits and '-', 31 at most; "
                  "--name gives another",
                  args.name);
        return CTL_USAGE;
    }
    return (int)add(opt, args.name, args.dir, from);
}

/* --- list, show ------------------------------------------------------------------------------ */

enum { COLUMN_PROFILES = COLUMNS - 1 };

static void row_add(struct table *t, const json_t *skill, bool is_short)
{
    char added[TIME_TEXT_SIZE], day[LIST_TIME_SIZE];
    cleanup_free char *profiles = json_join(json_object_get(skill, "profiles"));
    const char *pinned = json_string_value(json_object_get(skill, "skill"));
    const char *name = json_string_value(json_object_get(skill, "name"));

    (void)time_text(json_integer_value(json_object_get(skill, "added_s")), added);
    table_addf(t, "%.*s", is_short ? (int)strlen(name) + 1 + HASH_SHOWN : (int)SKILL_SIZE, pinned);
    table_add(t, json_is_true(json_object_get(skill, "newest")) ? "newest" : "-");
    table_addf(t, "%lld", (long long)json_integer_value(json_object_get(skill, "files")));
    table_addf(t, "%lld", (long long)json_integer_value(json_object_get(skill, "bytes")));
    table_add(t, is_short ? list_day(added, day) : added);
    table_add(t, profiles);
}

int cmd_skill_list(struct options *opt, int argc, char **argv)
{
    static const char *const heads[COLUMNS] = {"SKILL", "IS",    "FILES",
                                               "BYTES", "ADDED", "PROFILES"};
    cleanup_table struct table *t = table_new(COLUMNS);
    cleanup_json json_t *skills = NULL;
    bool is_short = false;
    enum ctl_exit code;

    if (list_parse(opt, argc, argv, "List the skills and their versions.", &is_short) < 0)
        return CTL_USAGE;
    code = skills_look(NULL, &skills);
    if (code != CTL_OK)
        return (int)code;
    if (opt->json) {
        cleanup_json json_t *all = json_pack("{s:O}", "skills", skills);

        if (!all)
            say_no_memory();
        json_print_line(all);
        return CTL_OK;
    }
    for (size_t i = 0; i < COLUMNS; i++)
        table_add(t, heads[i]);
    for (size_t i = 0; i < json_array_size(skills); i++)
        row_add(t, json_array_get(skills, i), is_short);
    list_print(t, is_short, LIST_CUT(COLUMN_PROFILES));
    return CTL_OK;
}

int cmd_skill_show(struct options *opt, int argc, char **argv)
{
    static const char *const keys[] = {"skill", "files", "bytes"};
    cleanup_json json_t *skills = NULL;
    cleanup_free char *profiles = NULL;
    const char *text = NULL;
    char added[TIME_TEXT_SIZE];
    enum ctl_exit code;
    json_t *skill;

    if (args_parse_operand(opt, argc, argv, 0, "NAME[@HASH]",
                           "Show a version of a skill; of a name alone the newest.", &text) < 0 ||
        !operand_is_valid(text))
        return CTL_USAGE;
    code = skills_look(text, &skills);
    if (code != CTL_OK)
        return (int)code;
    skill = json_array_get(skills, 0);
    if (opt->json) {
        json_print_line(skill);
        return CTL_OK;
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const json_t *value = json_object_get(skill, keys[i]);

        if (json_is_string(value))
            (void)printf("%-9s %s\n", keys[i], json_string_value(value));
        else
            (void)printf("%-9s %lld\n", keys[i], (long long)json_integer_value(value));
    }
    profiles = json_join(json_object_get(skill, "profiles"));
    (void)printf("%-9s %s\n", "newest",
                 json_is_true(json_object_get(skill, "newest")) ? "yes" : "no");
    (void)printf("%-9s %s\n", "added",
                 time_text(json_integer_value(json_object_get(skill, "added_s")), added));
    (void)printf("%-9s %s\n", "profiles", profiles);
    (void)printf("%-9s %s/%s\n", "is in", SKILL_STORE,
                 json_string_value(json_object_get(skill, "skill")));
    return CTL_OK;
}

/* --- verify ---------------------------------------------------------------------------------- */

struct verifying {
    json_t *wrong; /* array, borrowed */
    json_int_t count;
};

static enum ctl_exit skill_verify(void *arg, const char *pinned, int dir)
{
    struct verifying *v = arg;
    struct skill_tree tree = {0};
    int r = skill_tree_take(dir, -1, pinned, &tree);

    v->count++;
    if (r == 0 && strcmp(strchr(pinned, '@') + 1, tree.hash) == 0)
        return CTL_OK;
    if (r == 0)
        say_error("%s: what is in it is not what was added", pinned);
    else if (r != -EINVAL)
        return CTL_INTERNAL;
    if (json_array_append_new(v->wrong, json_string(pinned)) < 0)
        say_no_memory();
    return CTL_OK;
}

struct verify_args {
    struct options *opt;
    const char *skill; /* NULL: all */
};

static error_t verify_option_parse(int key, char *arg, struct argp_state *state)
{
    struct verify_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case ARGP_KEY_ARG:
        return args_operand(state, arg, &args->skill);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp verify_argp = {
    .parser = verify_option_parse,
    .args_doc = "[NAME[@HASH]]",
    .doc = "Compute the hashes of skills again, and compare; of all, or of one.",
    .children = options_child};

int cmd_skill_verify(struct options *opt, int argc, char **argv)
{
    cleanup_skill_store struct skill_store store = {.dir = -1, .lock = -1};
    cleanup_json json_t *wrong = json_array();
    struct verifying verifying = {.wrong = wrong};
    struct verify_args args = {.opt = opt};
    char found[SKILL_SIZE];
    enum ctl_exit code;

    if (!wrong)
        say_no_memory();
    if (argp_parse(&verify_argp, argc, argv, 0, NULL, &args) != 0 ||
        (args.skill && !operand_is_valid(args.skill)))
        return CTL_USAGE;
    code = skill_store_open(SKILL_STORE, false, &store);
    if (code == CTL_OK && args.skill)
        code = skill_store_find(&store, args.skill, found);
    if (code == CTL_OK)
        code = skill_store_each(&store, args.skill ? found : NULL, skill_verify, &verifying);
    if (code != CTL_OK)
        return (int)code;
    if (opt->json) {
        cleanup_json json_t *json =
            json_pack("{s:I, s:O}", "verified", verifying.count, "wrong", wrong);

        if (!json)
            say_no_memory();
        json_print_line(json);
    } else if (json_array_size(wrong) == 0) {
        (void)printf("fine, versions: %lld\n", (long long)verifying.count);
    }
    return json_array_size(wrong) == 0 ? CTL_OK : CTL_NO;
}

/* --- del ------------------------------------------------------------------------------------- */

struct del_args {
    struct options *opt;
    const char *skill;
    bool is_forced;
};

static error_t del_option_parse(int key, char *arg, struct argp_state *state)
{
    struct del_args *args = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case 'f':
        args->is_forced = true;
        return 0;
    case ARGP_KEY_ARG:
        return args_operand(state, arg, &args->skill);
    case ARGP_KEY_END:
        if (!args->skill)
            argp_error(state, "NAME@HASH is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option del_options[] = {
    {"force", 'f', NULL, 0, "Also if a profile in force names it: nothing starts with it any more",
     0},
    {0},
};

static const struct argp del_argp = {
    .options = del_options,
    .parser = del_option_parse,
    .args_doc = "NAME@HASH",
    .doc = "Take a version of a skill away.\vRuns and sessions that have it lose its files. The "
           "newest version of a name goes last.",
    .children = options_child};

/* Return: CTL_OK if no profile in force names it; else it has been said. */
static enum ctl_exit unused_ask(const char *pinned)
{
    cleanup_free char *text = NULL;
    json_t *uses;
    enum ctl_exit code = uses_of(pinned, &uses);

    if (code != CTL_OK)
        return code;
    if (json_is_null(uses)) {
        say_error("nobody can say whether %s is in force: sessiond has shown no policy; --force "
                  "removes it all the same",
                  pinned);
        return CTL_UNAVAILABLE;
    }
    text = json_join(uses);
    code = json_array_size(uses) == 0 ? CTL_OK : CTL_NO;
    if (code != CTL_OK)
        say_error("%s is in force, in %s: take it out of the policy and reload sessiond first",
                  pinned, text);
    json_decref(uses);
    return code;
}

int cmd_skill_del(struct options *opt, int argc, char **argv)
{
    cleanup_skill_store struct skill_store store = {.dir = -1, .lock = -1};
    struct del_args args = {.opt = opt};
    char pinned[SKILL_SIZE];
    int code;

    if (argp_parse(&del_argp, argc, argv, 0, NULL, &args) != 0)
        return CTL_USAGE;
    if (!strchr(args.skill, '@') || !skill_store_names(args.skill)) {
        say_error("'%s' is not NAME@HASH: which version is to go, the list says", args.skill);
        return CTL_USAGE;
    }
    code = root_ask();
    if (code == CTL_OK)
        code = (int)skill_store_open(SKILL_STORE, true, &store);
    if (code == CTL_OK)
        code = (int)skill_store_find(&store, args.skill, pinned);
    if (code == CTL_OK && !args.is_forced)
        code = (int)unused_ask(pinned);
    return code == CTL_OK ? (int)skill_store_del(&store, pinned) : code;
}
