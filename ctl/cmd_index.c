/* SPDX-License-Identifier: ISC */
/* cmd_index.c - atelier index verify, index rebuild */
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/index_verify.h"
#include "ctl/say.h"

#include "common/banned.h"

static void verdict_print(const struct options *opt, const struct index_verdict *v)
{
    size_t n = json_array_size(v->found);

    if (opt->json) {
        cleanup_json json_t *json = json_pack("{s:I, s:I, s:I, s:O}", "generation", v->generation,
                                              "users", (json_int_t)v->users, "groups",
                                              (json_int_t)v->groups, "differences", v->found);

        if (!json)
            say_no_memory();
        json_print_line(json);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(v->found, i);

        /* Escaped by the child. */
        (void)printf(
            "%s: the registry has %s, NSS says %s\n", json_text(json_object_get(one, "question")),
            json_text(json_object_get(one, "registry")), json_text(json_object_get(one, "nss")));
    }
    if (n == 0)
        (void)printf("NSS and the registry agree: %zu users, %zu groups, generation "
                     "%" JSON_INTEGER_FORMAT "\n",
                     v->users, v->groups, v->generation);
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
    struct index_verdict v = {0};
    enum ctl_exit code;

    if (args_parse_operand(opt, argc, argv, 0, NULL, doc, NULL) < 0)
        return CTL_USAGE;
    code = index_verify(opt, &v);
    if (code != CTL_OK)
        return (int)code;
    verdict_print(opt, &v);
    if (json_array_size(v.found) > 0) {
        cure_say(v.found);
        code = CTL_NO;
    }
    json_decref(v.found);
    return (int)code;
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
