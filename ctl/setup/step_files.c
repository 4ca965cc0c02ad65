/* SPDX-License-Identifier: ISC */
/* step_files.c - steps that only edit files: nsswitch.conf, and ranges of ids. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/ids.h"
#include "ctl/setup/keys.h"
#include "ctl/setup/limits.h"
#include "ctl/setup/nsswitch.h"
#include "ctl/setup/step.h"

#include "common/banned.h"

/* The last id that useradd(8) and adduser(8) may pick by themselves. */
#define LAST_LOCAL (ID_OUTER_MIN - 1)

/* --- nsswitch.conf ------------------------------------------------------------------------- */

static int nsswitch_make(struct setup *s, const struct text *now, struct text *ret_new,
                         struct complaint *ret_why)
{
    (void)s;
    return nsswitch_edit(now, ret_new, ret_why);
}

static void nsswitch_take_out(const struct text *now, const struct entry *entry,
                              struct text *ret_text, const char **ret_left)
{
    (void)entry;
    *ret_left = NULL;
    nsswitch_unedit(now, ret_text);
}

static const struct edit nsswitch = {
    .step = "nsswitch",
    .path = "/etc/nsswitch.conf",
    .why = "let the host know the users of the registry, after its own",
    .mode = 0644,
    .make = nsswitch_make,
    .take_out = nsswitch_take_out,
};

static void nsswitch_plan(struct setup *s)
{
    edit_plan(s, &nsswitch);
}

static int nsswitch_apply(struct setup *s)
{
    return edit_apply(s, &nsswitch);
}

static int nsswitch_undo(struct setup *s)
{
    cleanup_file struct file now = {0};
    cleanup_text struct text without = {0};

    if (edit_undo(s, &nsswitch) < 0)
        return -1;
    if (file_read(nsswitch.path, &now) < 0 || !now.text.bytes)
        return 0;
    nsswitch_unedit(&now.text, &without);
    if (!text_is_same(&now.text, &without))
        note_say(s, "%s still names atelier, as it did before setup", nsswitch.path);
    return 0;
}

const struct step step_nsswitch = {"nsswitch", nsswitch_plan, nsswitch_apply, nsswitch_undo};

/* --- ranges of ids ------------------------------------------------------------------------- */

/*
 * useradd(8) takes the id after the highest that it finds below UID_MAX, which is 60000 on Debian:
 * one local account at 9999, and the next one is a participant's. Source: shadow 4.13
 * find_new_uid.c.
 */
static const struct key_rule login_rules[] = {
    {"UID_MAX", 0, LAST_LOCAL, LAST_LOCAL},
    {"GID_MAX", 0, LAST_LOCAL, LAST_LOCAL},
};
static const char *const login_keys[] = {"UID_MAX", "GID_MAX"};

/* What an edit of the maximum alone would turn into nonsense. */
static const struct key_rule login_limits[] = {
    {"UID_MIN", 1, LAST_LOCAL, 0},
    {"GID_MIN", 1, LAST_LOCAL, 0},
    {"SYS_UID_MIN", 1, LAST_LOCAL, 0},
    {"SYS_UID_MAX", 1, LAST_LOCAL, 0},
    {"SYS_GID_MIN", 1, LAST_LOCAL, 0},
    {"SYS_GID_MAX", 1, LAST_LOCAL, 0},
    /* Ids of containers: no rule of the network sees them, and they must not be participants'. */
    {"SUB_UID_MIN", ID_OUTER_MAX + 1, UINT32_MAX, 0},
    {"SUB_GID_MIN", ID_OUTER_MAX + 1, UINT32_MAX, 0},
};

static int login_make(struct setup *s, const struct text *now, struct text *ret_new,
                      struct complaint *ret_why)
{
    (void)s;
    if (!now->bytes) {
        (void)snprintf(ret_why->what, sizeof(ret_why->what),
                       "is missing: install the Debian package passwd (or login.defs)");
        return -EINVAL;
    }
    if (keys_check(now, KEYS_BLANK, login_limits, sizeof(login_limits) / sizeof(login_limits[0]),
                   ret_why) < 0)
        return -EINVAL;
    return keys_edit(now, KEYS_BLANK, login_rules, 2, ret_new, ret_why);
}

static void login_take_out(const struct text *now, const struct entry *entry, struct text *ret_text,
                           const char **ret_left)
{
    keys_unedit(now, &entry->before.text, &entry->after, KEYS_BLANK, login_keys, 2, ret_text,
                ret_left);
}

static const struct edit login_defs = {
    .step = "limits",
    .path = "/etc/login.defs",
    .why = "keep useradd and groupadd below 10000",
    .mode = 0644,
    .make = login_make,
    .take_out = login_take_out,
};

/* Without a setting adduser(8) goes up to 59999. Source: adduser 3.134, AdduserCommon.pm. */
static const struct key_rule adduser_rules[] = {
    {"LAST_UID", 0, LAST_LOCAL, LAST_LOCAL},
    {"LAST_GID", 0, LAST_LOCAL, LAST_LOCAL},
};
static const char *const adduser_keys[] = {"LAST_UID", "LAST_GID"};

static const struct key_rule adduser_limits[] = {
    {"FIRST_UID", 1, LAST_LOCAL, 0},        {"FIRST_GID", 1, LAST_LOCAL, 0},
    {"FIRST_SYSTEM_UID", 1, LAST_LOCAL, 0}, {"LAST_SYSTEM_UID", 1, LAST_LOCAL, 0},
    {"FIRST_SYSTEM_GID", 1, LAST_LOCAL, 0}, {"LAST_SYSTEM_GID", 1, LAST_LOCAL, 0},
};

static int adduser_make(struct setup *s, const struct text *now, struct text *ret_new,
                        struct complaint *ret_why)
{
    (void)s;
    /* Without the package adduser there is nothing to keep away. */
    if (!now->bytes)
        return -ENOENT;
    if (keys_check(now, KEYS_ASSIGN, adduser_limits,
                   sizeof(adduser_limits) / sizeof(adduser_limits[0]), ret_why) < 0)
        return -EINVAL;
    return keys_edit(now, KEYS_ASSIGN, adduser_rules, 2, ret_new, ret_why);
}

static void adduser_take_out(const struct text *now, const struct entry *entry,
                             struct text *ret_text, const char **ret_left)
{
    keys_unedit(now, &entry->before.text, &entry->after, KEYS_ASSIGN, adduser_keys, 2, ret_text,
                ret_left);
}

static const struct edit adduser_conf = {
    .step = "limits",
    .path = "/etc/adduser.conf",
    .why = "keep adduser and addgroup below 10000",
    .mode = 0644,
    .make = adduser_make,
    .take_out = adduser_take_out,
};

const struct id_limits id_limits[ID_LIMITS_COUNT] = {
    {"/etc/login.defs", KEYS_BLANK, login_rules, 2, login_limits,
     sizeof(login_limits) / sizeof(login_limits[0])},
    {"/etc/adduser.conf", KEYS_ASSIGN, adduser_rules, 2, adduser_limits,
     sizeof(adduser_limits) / sizeof(adduser_limits[0])},
};

static void limits_plan(struct setup *s)
{
    edit_plan(s, &login_defs);
    edit_plan(s, &adduser_conf);
}

static int limits_apply(struct setup *s)
{
    return edit_apply(s, &login_defs) < 0 ? -1 : edit_apply(s, &adduser_conf);
}

static int limits_undo(struct setup *s)
{
    int r = edit_undo(s, &adduser_conf);

    return edit_undo(s, &login_defs) < 0 ? -1 : r;
}

const struct step step_limits = {"limits", limits_plan, limits_apply, limits_undo};
