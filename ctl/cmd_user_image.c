/* SPDX-License-Identifier: ISC */
/*
 * cmd_user_image.c - atelier user image
 *
 * Order: the home is held, so that nothing of the user's starts; then it is looked whether anything
 * lives, and only if not is the home converted. In the other order something could start in
 * between. Nobody is locked for that: the hold is a lock of the kernel's, and goes with its
 * process.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "common/image.h"
#include "common/str.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/disk_text.h"
#include "ctl/home_archive.h"
#include "ctl/home_convert.h"
#include "ctl/home_image.h"
#include "ctl/home_size.h"
#include "ctl/named.h"
#include "ctl/policy_disk.h"
#include "ctl/say.h"
#include "ctl/setup/processes.h"

#include "common/banned.h"

enum {
    OPTION_ALL = OPTION_OWN,
    OPTION_DRY_RUN,
};

struct image_args {
    struct options *opt;
    char **names; /* borrowed */
    size_t count;
    bool is_all, is_dry_run;
};

/* One user. */
struct conversion {
    const struct image_args *args;
    const char *name;
    uid_t uid;
    char *path;
    struct home_size size;
    struct policy_disk disk;
    enum ctl_exit code; /* of what was said in on_held() */
    bool is_looked, is_held;
};

/* --- what is there ------------------------------------------------------------------------- */

/* What becomes of new homes. A quota limits directories, and images would only be in its way. */
static enum ctl_exit backend_check(const struct options *opt)
{
    cleanup_answer struct answer a = {0};
    const char *disk, *what;
    enum ctl_exit code = answer_fetch(opt, "GET", "/v1/healthz", NULL, &a);

    if (code != CTL_OK)
        return code;
    disk = json_string_value(json_object_get(a.json, "disk"));
    what = json_string_value(json_object_get(a.json, "disk_what"));
    if (!disk || !what)
        return answer_is_strange("health says nothing of the disk");
    if (!json_is_true(json_object_get(a.json, "sessiond"))) {
        say_error("sessiond is not there: only it can say what lives, and what holds the homes");
        return CTL_UNAVAILABLE;
    }
    if (strcmp(disk, "image") == 0)
        return CTL_OK;
    if (strcmp(disk, "quota") == 0)
        say_error("the file system's quota limits the homes here, as they are: nothing is to be "
                  "converted (atelier.conf(5), disk, backend)");
    else
        say_error("new homes are no images here, so none is made of the old ones%s%s "
                  "(atelier.conf(5), disk, backend)",
                  what[0] ? ": " : "", what);
    return CTL_NO;
}

/* @ret_alive: What lives, with a blank at its end; NULL: nothing. Heap. */
static enum ctl_exit alive_look(const struct conversion *x, char **ret_alive)
{
    cleanup_answer struct answer a = {0};
    json_int_t runs, sessions;
    enum ctl_exit code;
    json_t *live;

    code = named_fetch(x->args->opt, "GET", NAMED_USER, x->name, NULL, &a);
    if (code == CTL_OK)
        code = named_judge(x->args->opt, NAMED_USER, x->name, &a);
    if (code != CTL_OK)
        return code;
    live = json_object_get(a.json, "live");
    if (json_is_null(live)) {
        say_error("%s: sessiond is not there to say whether anything of theirs lives; try again",
                  x->name);
        return CTL_BUSY;
    }
    if (json_unpack(live, "{s:I, s:I}", "runs", &runs, "sessions", &sessions) < 0)
        return answer_is_strange("live");
    if (runs > 0 || sessions > 0)
        *ret_alive = text_format("runs: %" JSON_INTEGER_FORMAT ", sessions: %" JSON_INTEGER_FORMAT,
                                 runs, sessions);
    return CTL_OK;
}

/* What root itself runs as the user is in no session. */
static enum ctl_exit processes_look(const struct conversion *x, char **ret_alive)
{
    struct text list = {0};
    FILE *out = text_begin(&list);
    int n = processes_list("/proc", x->uid, x->uid, out);

    text_end(&list, out);
    if (n > 0)
        *ret_alive = text_format("processes: %s", list.bytes);
    else if (n < 0)
        say_error("/proc: %s", strerror(-n));
    text_done(&list);
    return n < 0 ? CTL_NO : CTL_OK;
}

static enum ctl_exit alive_check(const struct conversion *x)
{
    cleanup_free char *alive = NULL;
    enum ctl_exit code = alive_look(x, &alive);

    if (code == CTL_OK && !alive)
        code = processes_look(x, &alive);
    if (code != CTL_OK || !alive)
        return code;
    say_error("%s has something that lives, and keeps the home as it is: %s; then 'atelier user "
              "image %s' again",
              x->name, alive, x->name);
    return CTL_BUSY;
}

/* What there is, and whether it would fit. */
static enum ctl_exit size_check(struct conversion *x)
{
    cleanup_free char *why = NULL;
    int r = home_size(x->path, &x->size, &why);

    x->is_looked = r == 0;
    if (r == 0)
        r = home_size_fits(&x->size, x->disk.bytes, x->disk.files, &why);
    if (r == 0)
        r = home_size_has_room(&x->size, IMAGE_DIR, &why);
    if (r == 0)
        return CTL_OK;
    say_error("%s: %s", x->name, why);
    return CTL_NO;
}

static int on_held(void *arg)
{
    struct conversion *x = arg;

    x->is_held = true;
    x->code = alive_check(x);
    if (x->code == CTL_OK)
        x->code = size_check(x);
    return x->code == CTL_OK ? 0 : -ECANCELED;
}

/* --- what is said -------------------------------------------------------------------------- */

/* @home: what it is now, NULL: there is none. */
static void conversion_print(const struct conversion *x, const char *home, const char *sentence,
                             bool is_converted)
{
    char is[SIZE_TEXT_SIZE], may[SIZE_TEXT_SIZE];
    cleanup_json json_t *json = NULL;

    if (x->args->opt->json) {
        json = json_pack("{s:s, s:I, s:s?, s:b, s:I, s:I}", "name", x->name, "uid",
                         (json_int_t)x->uid, "home", home, "converted", is_converted, "limit_bytes",
                         (json_int_t)x->disk.bytes, "limit_files", (json_int_t)x->disk.files);
        if (!json ||
            json_object_set_new(json, "bytes",
                                x->is_looked ? json_integer((json_int_t)x->size.bytes)
                                             : json_null()) < 0 ||
            json_object_set_new(json, "files",
                                x->is_looked ? json_integer((json_int_t)x->size.files)
                                             : json_null()) < 0)
            say_no_memory();
        json_print_line(json);
        return;
    }
    (void)printf("%-8s %5u %s", x->name, x->uid, sentence);
    if (x->is_looked) {
        size_text(x->size.bytes, is, sizeof(is));
        size_text(x->disk.bytes, may, sizeof(may));
        (void)printf(": %s in %" PRIu64 " files, into an image of %s for %" PRIu64, is,
                     x->size.files, may, x->disk.files);
    }
    (void)puts("");
    (void)fflush(stdout);
}

/* --- one user ------------------------------------------------------------------------------ */

static enum ctl_exit conversion_look(struct conversion *x)
{
    struct stat st;
    int r = home_stat(ATELIER_HOMES_DIR, x->name, &st);
    enum ctl_exit code;

    if (home_image_is(x->uid, NULL)) {
        conversion_print(x, "image", "is an image already", false);
        return CTL_OK;
    }
    if (r == -ENOENT || (r == 0 && st.st_uid == 0)) {
        conversion_print(x, NULL, "has no home yet", false);
        return CTL_OK;
    }
    if (r < 0) {
        say_error("%s: %s", x->path, strerror(-r));
        return CTL_NO;
    }
    code = size_check(x);
    if (x->is_looked)
        conversion_print(x, "directory",
                         code == CTL_OK ? "would be converted" : "cannot be converted", false);
    return code;
}

static enum ctl_exit conversion_do(struct conversion *x)
{
    const struct home_convert c = {.uid = x->uid,
                                   .name = x->name,
                                   .bytes = x->disk.bytes,
                                   .files = x->disk.files,
                                   .held = on_held,
                                   .arg = x};
    cleanup_free char *why = NULL;
    int r = home_convert(&c, &why);

    if (r == -ENODATA) {
        conversion_print(x, NULL, "has no home yet", false);
        return CTL_OK;
    }
    if (x->code != CTL_OK)
        return x->code;
    if (r < 0 && home_image_is(x->uid, NULL)) {
        say_error("%s: the home is an image, but not all is done: %s; then 'atelier user image %s' "
                  "again",
                  x->name, why, x->name);
        return CTL_NO;
    }
    if (r < 0) {
        say_error("%s: the home stays as it is: %s", x->name, why);
        return CTL_NO;
    }
    conversion_print(x, "image", x->is_held ? "converted" : "is an image already", x->is_held);
    return CTL_OK;
}

static enum ctl_exit user_convert(const struct image_args *args, const char *name, uid_t uid)
{
    struct conversion x = {.args = args, .name = name, .uid = uid};
    cleanup_free char *path = text_format("%s/%s", ATELIER_HOMES_DIR, name), *why = NULL;

    x.path = path;
    if (policy_disk_of(name, &x.disk, &why) < 0) {
        say_error("%s: %s", name, why);
        return CTL_NO;
    }
    return args->is_dry_run ? conversion_look(&x) : conversion_do(&x);
}

/* --- all ----------------------------------------------------------------------------------- */

static enum ctl_exit user_json_convert(const struct image_args *args, const json_t *user)
{
    const char *name;
    json_int_t uid;

    if (json_unpack((json_t *)(uintptr_t)user, "{s:s, s:I}", "name", &name, "uid", &uid) < 0 ||
        !name_is_valid(name) || uid < ID_ALLOC_MIN || uid > ID_ALLOC_MAX)
        return answer_is_strange("a user");
    return user_convert(args, name, (uid_t)uid);
}

static enum ctl_exit all_convert(const struct image_args *args)
{
    cleanup_answer struct answer a = {0};
    enum ctl_exit first = CTL_OK;
    const json_t *users;

    first = answer_fetch(args->opt, "GET", "/v1/users", NULL, &a);
    if (first == CTL_OK && exit_of_http(a.http, NULL) != CTL_OK)
        first = answer_judge(args->opt, &a);
    if (first != CTL_OK)
        return first;
    users = json_object_get(a.json, "users");
    if (!json_is_array(users))
        return answer_is_strange("there is no list of users in it");
    for (size_t i = 0; i < json_array_size(users); i++) {
        enum ctl_exit code = user_json_convert(args, json_array_get(users, i));

        if (first == CTL_OK)
            first = code;
        if (code == CTL_UNAVAILABLE)
            break;
    }
    return first;
}

static enum ctl_exit named_convert(const struct image_args *args)
{
    enum ctl_exit first = CTL_OK;

    for (size_t i = 0; i < args->count; i++) {
        cleanup_answer struct answer a = {0};
        enum ctl_exit code = named_fetch(args->opt, "GET", NAMED_USER, args->names[i], NULL, &a);

        if (code == CTL_OK)
            code = named_judge(args->opt, NAMED_USER, args->names[i], &a);
        if (code == CTL_OK)
            code = user_json_convert(args, a.json);
        if (first == CTL_OK)
            first = code;
        if (code == CTL_UNAVAILABLE)
            break;
    }
    return first;
}

/* --- arguments ----------------------------------------------------------------------------- */

static error_t image_option_parse(int key, char *arg, struct argp_state *state)
{
    struct image_args *args = state->input;

    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = args->opt;
        return 0;
    case OPTION_ALL:
        args->is_all = true;
        return 0;
    case OPTION_DRY_RUN:
        args->is_dry_run = true;
        return 0;
    case ARGP_KEY_ARGS:
        args->names = state->argv + state->next;
        args->count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        if (args->is_all == (args->count > 0)) {
            argp_error(state, args->is_all ? "NAME or --all: one of the two" : "NAME is missing");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option image_options[] = {
    {"all", OPTION_ALL, NULL, 0, "All users", 0},
    {"dry-run", OPTION_DRY_RUN, NULL, 0, "Say what would be, and how large, change nothing", 0},
    {0},
};

static const struct argp image_argp = {
    .options = image_options,
    .parser = image_option_parse,
    .args_doc = "NAME...\n--all",
    .doc = "Make an image of a home that is a directory, of the size that the policy gives: from "
           "then on it limits the user.\vNothing of the user's may live meanwhile. Run it again "
           "after a crash: the home is the directory or the image, whole.",
    .children = options_child};

int cmd_user_image(struct options *opt, int argc, char **argv)
{
    struct image_args args = {.opt = opt};
    enum ctl_exit code;

    if (argp_parse(&image_argp, argc, argv, 0, NULL, &args) != 0)
        return CTL_USAGE;
    for (size_t i = 0; i < args.count; i++) {
        if (!named_check(NAMED_USER, args.names[i]))
            return CTL_USAGE;
    }
    if (geteuid() != 0) {
        say_error("only root can convert homes");
        return CTL_NOPERM;
    }
    code = backend_check(opt);
    if (code == CTL_OK)
        code = args.is_all ? all_convert(&args) : named_convert(&args);
    return (int)code;
}
