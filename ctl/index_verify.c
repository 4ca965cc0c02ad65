/* SPDX-License-Identifier: ISC */
/*
 * index_verify.c - every answer of NSS, beside the registry.
 *
 * The registry's side comes from the api, which reads the rows themselves; the other side is asked
 * of the C library as any program asks it. The sources of a process can be set once only, and a
 * module stays loaded: so each way of asking has a child of its own, which writes its findings as
 * lines of JSON into a pipe and ends with a line that says that it came to the end.
 */
#include "ctl/index_verify.h"

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

enum ctl_exit index_verify(const struct options *opt, struct index_verdict *ret)
{
    enum ctl_exit code = CTL_BUSY;

    for (int round = 0; round < ROUNDS; round++) {
        cleanup_json json_t *found = json_array();
        struct truth t = {0};
        bool has_moved = false;

        if (!found)
            say_no_memory();
        code = round_do(opt, &t, found, &has_moved);
        if (code == CTL_OK && !has_moved)
            *ret = (struct index_verdict){.found = json_incref(found),
                                          .users = t.user_count,
                                          .groups = t.group_count,
                                          .generation = t.generation};
        truth_done(&t);
        if (code != CTL_OK || !has_moved)
            return code;
    }
    say_error("the registry changes while it is read: try again when nobody is being added");
    return CTL_BUSY;
}
