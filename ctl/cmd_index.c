/* SPDX-License-Identifier: ISC */
/*
 * cmd_index.c - atelier index verify, index rebuild
 *
 * The registry's side comes from the api, which reads the rows themselves; the other side is asked
 * of the C library as any program asks it. The sources of a process can be set once only, and a
 * module stays loaded: so each way of asking has a child of its own, which writes its findings as
 * lines of JSON into a pipe and ends with a line that says that it came to the end.
 */
#include <errno.h>
#include <nss.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/index_compare.h"
#include "ctl/say.h"

#include "common/banned.h"

#define ROUNDS 2 /* people may be added meanwhile: once more */

/* --- the child ----------------------------------------------------------------------------- */

static json_t *text_json(const char *text)
{
    cleanup_free char *shown = text_escape(text, strlen(text), NULL);

    return json_string(shown);
}

static void on_difference(void *arg, const char *question, const char *registry, const char *nss)
{
    cleanup_json json_t *json = json_pack("{s:o, s:o, s:o}", "question", text_json(question),
                                          "registry", text_json(registry), "nss", text_json(nss));
    cleanup_free char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

    if (!text)
        say_no_memory();
    (void)fprintf(arg, "%s\n", text);
}

static bool module_alone(void)
{
    return __nss_configure_lookup("passwd", "atelier") == 0 &&
           __nss_configure_lookup("group", "atelier") == 0 &&
           __nss_configure_lookup("initgroups", "atelier") == 0;
}

_Noreturn static void child_run(const struct truth *t, bool is_host, int fd)
{
    FILE *out = fdopen(fd, "w");
    struct differences d = {.one = on_difference, .arg = out};

    if (!out || (!is_host && !module_alone()))
        _exit(1);
    if (is_host)
        compare_host(t, &d);
    else
        compare_module(t, &d);
    (void)fputs("{}\n", out);
    _exit(fclose(out) == 0 ? 0 : 1);
}

/* --- the parent ---------------------------------------------------------------------------- */

/* Append what a child finds. Return: CTL_OK if it came to its end. */
static enum ctl_exit child_read(int fd, json_t *found)
{
    FILE *in = fdopen(fd, "r");
    cleanup_free char *line = NULL;
    bool is_whole = false;
    size_t size = 0;

    if (!in)
        say_no_memory();
    while (getline(&line, &size, in) > 0) {
        json_t *one = json_loads(line, 0, NULL);

        is_whole = json_is_object(one) && json_object_size(one) == 0;
        if (is_whole || !json_is_object(one))
            json_decref(one);
        else if (json_array_append_new(found, one) < 0)
            say_no_memory();
    }
    (void)fclose(in);
    return is_whole ? CTL_OK : CTL_INTERNAL;
}

static enum ctl_exit asked(const struct truth *t, bool is_host, json_t *found)
{
    enum ctl_exit code;
    int pipes[2], status;
    pid_t pid;

    (void)fflush(NULL);
    if (pipe(pipes) < 0 || (pid = fork()) < 0) {
        say_error("cannot start a child: %s", strerror(errno));
        return CTL_INTERNAL;
    }
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(pipes[0]);
        child_run(t, is_host, pipes[1]);
    }
    (void)close(pipes[1]);
    code = child_read(pipes[0], found);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (code != CTL_OK && WIFSIGNALED(status))
        say_error("the lookups were killed by signal %d (%s): the module crashed, or something "
                  "ended them ('getent -s atelier passwd' shows)",
                  WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (code != CTL_OK)
        say_error("the lookups did not come to their end: the C library cannot load the module "
                  "('getent -s atelier passwd' shows)");
    return code;
}

/* Return: CTL_OK, CTL_BUSY if people come and go too fast, or another exit code. */
static enum ctl_exit truth_get(const struct options *opt, struct truth *t)
{
    uint32_t after = 0;
    int is_more = 1;

    while (is_more) {
        cleanup_answer struct answer a = {0};
        char path[64];
        enum ctl_exit code;
        size_t before = t->user_count;
        int r;

        (void)snprintf(path, sizeof(path), "/v1/index/%u", after);
        code = answer_fetch(opt, "GET", path, NULL, &a);
        if (code != CTL_OK)
            return code;
        if (a.http != 200)
            return answer_judge(opt, &a);
        r = json_unpack(a.json, "{s:b}", "more", &is_more) < 0 ? -EINVAL
                                                               : truth_add_page(t, a.json);
        if (r == -ESTALE)
            return CTL_BUSY;
        if (r < 0 || (is_more && t->user_count == before))
            return answer_is_strange("a page of the index");
        if (t->user_count > 0)
            after = t->users[t->user_count - 1].uid;
    }
    return CTL_OK;
}

/* Whether the registry still is as it was read. */
static enum ctl_exit generation_check(const struct options *opt, const struct truth *t,
                                      bool *ret_moved)
{
    cleanup_answer struct answer a = {0};
    json_int_t generation;
    enum ctl_exit code;
    char path[64];

    (void)snprintf(path, sizeof(path), "/v1/index/%u",
                   t->user_count > 0 ? t->users[t->user_count - 1].uid : 0);
    code = answer_fetch(opt, "GET", path, NULL, &a);
    if (code != CTL_OK)
        return code;
    if (a.http != 200)
        return answer_judge(opt, &a);
    if (json_unpack(a.json, "{s:I}", "generation", &generation) < 0)
        return answer_is_strange("generation");
    *ret_moved = generation != t->generation;
    return CTL_OK;
}

/* One comparison. @found is only worth something if nothing moved. */
static enum ctl_exit round_do(const struct options *opt, struct truth *t, json_t *found,
                              bool *ret_moved)
{
    enum ctl_exit code = truth_get(opt, t);

    if (code == CTL_BUSY) {
        *ret_moved = true;
        return CTL_OK;
    }
    if (code == CTL_OK)
        code = asked(t, false, found);
    if (code == CTL_OK)
        code = asked(t, true, found);
    return code == CTL_OK ? generation_check(opt, t, ret_moved) : code;
}

static void verdict_print(const struct options *opt, const struct truth *t, json_t *found)
{
    size_t n = json_array_size(found);

    if (opt->json) {
        cleanup_json json_t *json = json_pack("{s:I, s:I, s:I, s:O}", "generation", t->generation,
                                              "users", (json_int_t)t->user_count, "groups",
                                              (json_int_t)t->group_count, "differences", found);

        if (!json)
            say_no_memory();
        json_print_line(json);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(found, i);

        /* Escaped by the child. */
        (void)printf(
            "%s: the registry has %s, NSS says %s\n", json_text(json_object_get(one, "question")),
            json_text(json_object_get(one, "registry")), json_text(json_object_get(one, "nss")));
    }
    if (n == 0)
        (void)printf("NSS and the registry agree: %zu users, %zu groups, generation "
                     "%" JSON_INTEGER_FORMAT "\n",
                     t->user_count, t->group_count, t->generation);
}

/* What mends which kind of difference. */
static void cure_say(const json_t *found)
{
    bool is_module = false, is_host = false;

    for (size_t i = 0; i < json_array_size(found); i++) {
        const char *question = json_text(json_object_get(json_array_get(found, i), "question"));

        if (strncmp(question, "host: ", strlen("host: ")) == 0)
            is_host = true;
        else
            is_module = true;
    }
    if (is_module)
        say_error("the index is not what the registry says: 'atelier index rebuild' makes it anew");
    else if (is_host)
        say_error("our module answers rightly, but another source of this host is in the way: a "
                  "local account or group of the same name or number, a cache (nscd), or "
                  "/etc/nsswitch.conf");
}

int cmd_index_verify(struct options *opt, int argc, char **argv)
{
    static const char doc[] =
        "Compare every answer that NSS gives about users and groups with the registry: by name, by "
        "number, by listing, and the groups of each user.\vExit code 0: all agree. 1: they do not; "
        "each difference is a line.";
    enum ctl_exit code = CTL_BUSY;

    if (args_parse_operand(opt, argc, argv, 0, NULL, doc, NULL) < 0)
        return CTL_USAGE;
    for (int round = 0; round < ROUNDS; round++) {
        cleanup_json json_t *found = json_array();
        struct truth t = {0};
        bool has_moved = false;

        if (!found)
            say_no_memory();
        code = round_do(opt, &t, found, &has_moved);
        if (code == CTL_OK && !has_moved) {
            verdict_print(opt, &t, found);
            if (json_array_size(found) > 0) {
                cure_say(found);
                code = CTL_NO;
            }
        }
        truth_done(&t);
        if (code != CTL_OK || !has_moved)
            return (int)code;
    }
    say_error("the registry changes while it is read: try again when nobody is being added");
    return CTL_BUSY;
}

int cmd_index_rebuild(struct options *opt, int argc, char **argv)
{
    cleanup_json json_t *body = json_object();
    cleanup_answer struct answer a = {0};
    json_int_t generation, users, groups;
    json_error_t error;
    enum ctl_exit code;

    if (!body)
        say_no_memory();
    if (args_parse_operand(opt, argc, argv, 0, NULL,
                           "Make the file that NSS reads anew from the registry.", NULL) < 0)
        return CTL_USAGE;
    code = answer_get(opt, "POST", "/v1/index", body, &a);
    if (code != CTL_OK || opt->json)
        return (int)code;
    if (json_unpack_ex(a.json, &error, 0, "{s:I, s:I, s:I}", "generation", &generation, "users",
                       &users, "groups", &groups) < 0)
        return (int)answer_is_strange(error.text);
    (void)printf("%" JSON_INTEGER_FORMAT " users, %" JSON_INTEGER_FORMAT
                 " groups, generation %" JSON_INTEGER_FORMAT "\n",
                 users, groups, generation);
    return CTL_OK;
}
