/* SPDX-License-Identifier: ISC */
/* cmd_user_state.c - atelier user lock, user unlock, user expire */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/str.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/named.h"
#include "ctl/say.h"
#include "ctl/when.h"

#include "common/banned.h"

enum ctl_exit user_line_print(json_t *user)
{
    cleanup_free char *shown = NULL;
    const char *name, *state, *expires;
    json_error_t error;
    json_t *at;
    json_int_t uid;

    if (json_unpack_ex(user, &error, 0, "{s:s, s:I, s:s, s:o}", "name", &name, "uid", &uid, "state",
                       &state, "expires_at", &at) < 0)
        return answer_is_strange(error.text);
    expires = json_string_value(at);
    if (!expires && !json_is_null(at))
        return answer_is_strange("expires_at");
    if (asprintf(&shown, "%-8s %5" JSON_INTEGER_FORMAT " %s%s%s", name, uid, state,
                 expires ? ", expires " : "", expires ? expires : "") < 0)
        say_no_memory();
    {
        cleanup_free char *line = text_escape(shown, strlen(shown), NULL);

        (void)puts(line);
    }
    return CTL_OK;
}

static enum ctl_exit user_patch(const struct options *opt, const char *name, const json_t *body)
{
    cleanup_answer struct answer a = {0};
    enum ctl_exit code = named_get(opt, "PATCH", NAMED_USER, name, body, &a);

    if (code == CTL_OK && !opt->json)
        code = user_line_print(a.json);
    return code;
}

static int users_lock(struct options *opt, int argc, char **argv, bool is_locked, const char *doc)
{
    cleanup_json json_t *body = json_pack("{s:b}", "locked", is_locked);
    enum ctl_exit first = CTL_OK;
    char **names;
    size_t n;

    if (!body)
        say_no_memory();
    if (args_parse_operands(opt, argc, argv, 0, "NAME...", doc, &names, &n) < 0)
        return CTL_USAGE;
    for (size_t i = 0; i < n; i++) {
        if (!named_check(NAMED_USER, names[i]))
            return CTL_USAGE;
    }
    for (size_t i = 0; i < n; i++) {
        enum ctl_exit code = user_patch(opt, names[i], body);

        if (first == CTL_OK)
            first = code;
    }
    return first;
}

int cmd_user_lock(struct options *opt, int argc, char **argv)
{
    return users_lock(opt, argc, argv, true,
                      "Lock users: their sessions and runs end at once, and no link, key or web "
                      "application lets them in again before they are unlocked.");
}

int cmd_user_unlock(struct options *opt, int argc, char **argv)
{
    return users_lock(opt, argc, argv, false,
                      "Unlock users. Links that they have and did not use are good again.");
}

int user_expire_parse(struct options *opt, int argc, char **argv, unsigned flags, int64_t now_s,
                      const char **ret_name, json_t **ret_body)
{
    static const char doc[] =
        "Say when a user's time is over. Then the user's sessions and runs end as if locked.\v"
        "WHEN is a day (2026-11-30: its end, UTC), a moment (2026-11-30T18:00:00+01:00), a "
        "duration from now (+14d), or never.";
    char text[TIME_TEXT_SIZE];
    int64_t at_s = 0;
    char **words;
    size_t n;

    if (args_parse_operands(opt, argc, argv, flags, "NAME WHEN|never", doc, &words, &n) < 0)
        return -EINVAL;
    if (n != 2) {
        if (!(flags & ARGP_NO_ERRS))
            say_error("what is needed is the name of a user, and a day, a moment, +DURATION or "
                      "never");
        return -EINVAL;
    }
    if (!name_is_valid(words[0])) {
        if (!(flags & ARGP_NO_ERRS) && moment_parse(words[0], now_s, &at_s) == 0)
            say_error("the name comes first: atelier user expire %s %s", words[1], words[0]);
        else if (!(flags & ARGP_NO_ERRS))
            (void)named_check(NAMED_USER, words[0]);
        return -EINVAL;
    }
    if (strcmp(words[1], "never") != 0 && moment_parse(words[1], now_s, &at_s) < 0) {
        if (!(flags & ARGP_NO_ERRS))
            say_error("'%s' is neither a day (2026-11-30) nor a moment "
                      "(2026-11-30T18:00:00+01:00), +DURATION (+14d) or never",
                      words[1]);
        return -EINVAL;
    }
    *ret_body = at_s > 0 ? json_pack("{s:s}", "expires_at", time_text((json_int_t)at_s, text))
                         : json_pack("{s:n}", "expires_at");
    if (!*ret_body)
        say_no_memory();
    *ret_name = words[0];
    return 0;
}

int cmd_user_expire(struct options *opt, int argc, char **argv)
{
    cleanup_json json_t *body = NULL;
    const char *name = NULL;

    if (user_expire_parse(opt, argc, argv, 0, (int64_t)time(NULL), &name, &body) < 0)
        return CTL_USAGE;
    return user_patch(opt, name, body);
}
