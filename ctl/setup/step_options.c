/* SPDX-License-Identifier: ISC */
/*
 * step_options.c - our own options: the port, where magic links lead, who resolves names of hosts.
 *
 * Without --resolver, and where the file does not say anything about sessiond's options, those of
 * the host are proposed: without any, participants can reach addresses and no names.
 * --resolver none is remembered, so that a later setup does not open what somebody did not want.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/setup/keys.h"
#include "ctl/setup/resolvers.h"
#include "ctl/setup/step.h"
#include "ctl/setup/whole.h"

#include "common/banned.h"

#define STEP     "options"
#define DEFAULTS "/etc/default/atelier"
#define DECLINED "no resolvers"

static const char *const port_keys[] = {"Port"};

static int port_make(struct setup *s, const struct text *now, struct text *ret_new,
                     struct complaint *ret_why)
{
    const uint32_t port = s->options->port;
    const struct key_rule rule = {"Port", port, port, port};

    if (port == 0 || !now->bytes)
        return -ENOENT;
    return keys_edit(now, KEYS_SSHD, &rule, 1, ret_new, ret_why);
}

static void port_take_out(const struct text *now, const struct entry *entry, struct text *ret_text,
                          const char **ret_left)
{
    keys_unedit(now, &entry->before.text, &entry->after, KEYS_SSHD, port_keys, 1, ret_text,
                ret_left);
}

static const struct edit port_edit = {
    .step = STEP,
    .path = "/etc/atelier/sshd_config",
    .why = "the port where participants log in",
    .mode = 0644,
    .make = port_make,
    .take_out = port_take_out,
};

static const struct option_name link_base_name = {"SESSIOND_API_OPTIONS", "--link-base", NULL};
static const struct option_name resolver_name = {"SESSIOND_OPTIONS", "--resolver", "-r"};
static const char *const option_keys[] = {"SESSIOND_API_OPTIONS", "SESSIOND_OPTIONS"};

static bool is_decided(const struct text *defaults)
{
    const char *start;
    size_t size, line;

    return defaults->bytes &&
           key_find(defaults, KEYS_ASSIGN, resolver_name.key, &start, &size, &line) == 0;
}

/* The host's own, through the links that resolv.conf usually is. */
static void host_resolvers_read(struct resolvers *ret)
{
    char *path = realpath("/etc/resolv.conf", NULL);
    cleanup_file struct file f = {0};

    *ret = (struct resolvers){.count = 0};
    if (path && file_read(path, &f) == 0 && f.text.bytes)
        resolvers_read(&f.text, ret);
    free(path);
}

/* As option_edit(), or -ENOENT if nothing is to be set. */
static int resolvers_edit(struct setup *s, const struct text *now, struct text *ret_new,
                          struct complaint *ret_why)
{
    const struct setup_options *o = s->options;
    const char *values[RESOLVERS_MAX];
    struct resolvers host;

    if (o->resolver_count > 0)
        return option_edit(now, &resolver_name, o->resolvers, o->resolver_count, ret_new, ret_why);
    if (o->is_resolver_none || is_decided(now) || record_has(&s->record, ENTRY_MARK, DECLINED))
        return -ENOENT;
    host_resolvers_read(&host);
    for (size_t i = 0; i < host.count; i++)
        values[i] = host.address[i];
    return host.count > 0 ? option_edit(now, &resolver_name, values, host.count, ret_new, ret_why)
                          : -ENOENT;
}

static int defaults_make(struct setup *s, const struct text *now, struct text *ret_new,
                         struct complaint *ret_why)
{
    cleanup_text struct text linked = {0};
    int r = 0;

    if (s->options->link_base)
        r = option_edit(now, &link_base_name, &s->options->link_base, 1, &linked, ret_why);
    if (r < 0)
        return r;
    r = resolvers_edit(s, linked.bytes ? &linked : now, ret_new, ret_why);
    if (r != -ENOENT || !linked.bytes)
        return r;
    *ret_new = text_take(&linked);
    return 0;
}

static void defaults_take_out(const struct text *now, const struct entry *entry,
                              struct text *ret_text, const char **ret_left)
{
    *ret_left = NULL;
    if (!entry->before.text.bytes) {
        whole_unedit(now, &entry->after, ret_text);
        return;
    }
    keys_unedit(now, &entry->before.text, &entry->after, KEYS_ASSIGN, option_keys, 2, ret_text,
                ret_left);
}

static const struct edit defaults = {
    .step = STEP,
    .path = DEFAULTS,
    .why = "where magic links lead, who resolves names of hosts for participants (--resolver)",
    .mode = 0644,
    .make = defaults_make,
    .take_out = defaults_take_out,
};

/* What the plan says about names; sessiond reads its options when it starts. */
static void resolvers_plan(struct setup *s)
{
    cleanup_file struct file now = {0};
    cleanup_text struct text new = {0};
    struct complaint why = {0};
    int r;

    if (file_read(DEFAULTS, &now) < 0)
        return; /* edit_plan() refused */
    r = resolvers_edit(s, &now.text, &new, &why);
    s->is_sessiond_restart = r == 0 && !text_is_same(&now.text, &new);
    if (r != -ENOENT || is_decided(&now.text) || record_has(&s->record, ENTRY_MARK, DECLINED))
        return;
    if (s->options->is_resolver_none)
        plan_say(s, "remember that participants resolve no names of hosts (--resolver none)");
    else
        note_say(s, "/etc/resolv.conf names no resolver: participants resolve no names of hosts "
                    "without --resolver ADDRESS");
}

static void options_plan(struct setup *s)
{
    edit_plan(s, &port_edit);
    edit_plan(s, &defaults);
    resolvers_plan(s);
    s->is_restart = !edit_is_done(s, &port_edit) || !edit_is_done(s, &defaults);
}

static int options_apply(struct setup *s)
{
    int r = 0;

    if (edit_apply(s, &port_edit) < 0 || edit_apply(s, &defaults) < 0)
        return -1;
    if (s->options->is_resolver_none)
        r = record_put(&s->record, ENTRY_MARK, STEP, DECLINED);
    else if (s->options->resolver_count > 0)
        r = record_drop(&s->record, ENTRY_MARK, DECLINED);
    return r < 0 ? step_fail("cannot write " SETUP_DIR ": %s", strerror(-r)) : 0;
}

static int options_undo(struct setup *s)
{
    int r = edit_undo(s, &defaults);

    if (edit_undo(s, &port_edit) < 0 || r < 0)
        return -1;
    r = record_drop(&s->record, ENTRY_MARK, DECLINED);
    return r < 0 ? step_fail("cannot write " SETUP_DIR ": %s", strerror(-r)) : 0;
}

const struct step step_options = {STEP, options_plan, options_apply, options_undo};
