/* SPDX-License-Identifier: ISC */
/* minted.c - a link that was just made. */
#include "ctl/minted.h"

#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/say.h"

#include "common/banned.h"

#define SSH_PORT 2222 /* of atelier-sshd */

/* A QR code is drawn as it comes: it must be nothing but blocks and ends of lines. */
static bool is_drawing(const char *text)
{
    static const char *const parts[] = {" ", "\n", "\u2580", "\u2584", "\u2588"};

    while (*text) {
        size_t n = 0;

        for (size_t i = 0; n == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
            if (strncmp(text, parts[i], strlen(parts[i])) == 0)
                n = strlen(parts[i]);
        }
        if (n == 0)
            return false;
        text += n;
    }
    return true;
}

static enum ctl_exit minted_read(json_t *json, struct minted *m)
{
    json_error_t error;

    if (json_unpack_ex(json, &error, 0, "{s:s, s:s, s:I, s:s, s:s, s:s, s:s, s?s}", "id", &m->id,
                       "user", &m->user, "uid", &m->uid, "link", &m->link, "code", &m->code,
                       "expires_at", &m->expires_at, "purpose", &m->purpose, "qr", &m->qr) < 0)
        return answer_is_strange(error.text);
    if (m->qr && !is_drawing(m->qr))
        return answer_is_strange("qr");
    return CTL_OK;
}

enum ctl_exit minted_get(const struct options *opt, const json_t *body, const char *who,
                         struct minted *ret_minted)
{
    struct minted m = {0};
    enum ctl_exit code = answer_fetch(opt, "POST", "/v1/links", body, &m.answer);

    if (code != CTL_OK)
        return code;
    code = exit_of_http(m.answer.http, json_string_value(json_object_get(m.answer.json, "status")));
    if (code == CTL_OK) {
        code = minted_read(m.answer.json, &m);
    } else {
        if (opt->json && m.answer.json)
            json_print_line(m.answer.json);
        error_say(who, m.answer.json, m.answer.http);
    }
    if (code == CTL_OK)
        *ret_minted = m;
    else
        minted_done(&m);
    return code;
}

void minted_done(struct minted *m)
{
    answer_done(&m->answer);
    *m = (struct minted){0};
}

char *host_of_link(const char *link)
{
    const char *host = strstr(link, "://");
    size_t n = 0;
    char *copy;

    host = host ? host + 3 : "";
    if (host[0] == '[') {
        host++;
        n = strcspn(host, "]");
    } else {
        n = strcspn(host, ":/?#");
    }
    copy = n > 0 ? strndup(host, n) : strdup("HOST");
    if (!copy)
        say_no_memory();
    return copy;
}

static void line_print(const char *before, const char *text)
{
    cleanup_free char *shown = text_escape(text, strlen(text), NULL);

    (void)printf("%s%s\n", before, shown);
}

static void text_print(const struct minted *m, const char *who)
{
    cleanup_free char *host = host_of_link(m->link);
    cleanup_free char *command = NULL, *first = NULL;

    if (asprintf(&first, "%s%s, uid %" JSON_INTEGER_FORMAT, who, m->user, m->uid) < 0 ||
        asprintf(&command, "ssh -p %d %s@%s", SSH_PORT, m->user, host) < 0)
        say_no_memory();
    line_print("", first);
    if (strcmp(m->purpose, "web") != 0)
        line_print("    ", command);
    line_print("    ", m->code);
    if (strcmp(m->purpose, "ssh") != 0)
        line_print("    ", m->link);
    line_print("    good once, until ", m->expires_at);
    line_print("    to take it back: atelier link revoke ", m->id);
    if (m->qr)
        (void)fputs(m->qr, stdout);
}

void minted_print(const struct options *opt, const struct minted *m, const char *who)
{
    cleanup_json json_t *json = NULL;

    if (!opt->json) {
        text_print(m, who);
        return;
    }
    json = json_pack("{s:s, s:I, s:s, s:s, s:s, s:s}", "user", m->user, "uid", m->uid, "link",
                     m->link, "code", m->code, "expires_at", m->expires_at, "id", m->id);
    if (!json)
        say_no_memory();
    json_print_line(json);
}
