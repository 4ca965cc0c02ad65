/* SPDX-License-Identifier: ISC */
/* named.c - a request about one user or group. */
#include "ctl/named.h"

#include <stdio.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "ctl/say.h"

#include "common/banned.h"

static const char *noun(enum named kind)
{
    switch (kind) {
    case NAMED_USER:
        return "user";
    case NAMED_GROUP:
        return "group";
    }
    return "";
}

bool named_check(enum named kind, const char *name)
{
    if (name_is_valid(name))
        return true;
    say_error("'%s' is not a %s name: a lower-case letter, then letters, digits and '-', at most "
              "%d in all",
              name, noun(kind), NAME_MAX_LEN);
    return false;
}

enum ctl_exit named_fetch(const struct options *opt, const char *method, enum named kind,
                          const char *name, const json_t *body, struct answer *ret_answer)
{
    char path[sizeof("/v1/groups/") + NAME_SIZE];

    if (!named_check(kind, name))
        return CTL_USAGE;
    (void)snprintf(path, sizeof(path), "/v1/%ss/%s", noun(kind), name);
    return answer_fetch(opt, method, path, body, ret_answer);
}

enum ctl_exit named_judge(const struct options *opt, enum named kind, const char *name,
                          const struct answer *a)
{
    const char *word = json_string_value(json_object_get(a->json, "status"));
    enum ctl_exit code = exit_of_http(a->http, word);
    cleanup_free char *prefix = NULL;

    if (code == CTL_OK)
        return CTL_OK;
    if (opt->json && a->json)
        json_print_line(a->json);
    if (a->http == 404) {
        say_error("there is no %s '%s'; 'atelier %s list' shows who there is", noun(kind), name,
                  noun(kind));
        return code;
    }
    if (asprintf(&prefix, "%s: ", name) < 0)
        say_no_memory();
    error_say(prefix, a->json, a->http);
    return code;
}

enum ctl_exit named_get(const struct options *opt, const char *method, enum named kind,
                        const char *name, const json_t *body, struct answer *ret_answer)
{
    enum ctl_exit code = named_fetch(opt, method, kind, name, body, ret_answer);

    if (code == CTL_OK)
        code = named_judge(opt, kind, name, ret_answer);
    if (code == CTL_OK && opt->json && ret_answer->json)
        json_print_line(ret_answer->json);
    return code;
}
