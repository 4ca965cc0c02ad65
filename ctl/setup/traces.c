/* SPDX-License-Identifier: ISC */
/* traces.c - what setup does to a host, looked for where there is no record of it. */
#include "ctl/setup/traces.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/ids.h"
#include "ctl/setup/nsswitch.h"
#include "ctl/setup/pam.h"
#include "ctl/setup/sshd.h"
#include "ctl/setup/step.h"
#include "ctl/setup/units.h"

#include "common/banned.h"

#define NSSWITCH "/etc/nsswitch.conf"
#define PROFILES "/var/lib/pam/account"
#define MANAGER  "/etc/systemd/system/user@.service.d/atelier.conf"

/* Return: 1. */
static size_t trace_say(const char *path, const char *what)
{
    (void)step_fail("%s %s", path, what);
    return 1;
}

/* Whether the file is there and as the test says; one that cannot be read is. */
static size_t file_look(const char *path, bool (*is_ours)(const struct text *text),
                        const char *what)
{
    cleanup_file struct file f = {0};
    int r = file_read(path, &f);

    if (r < 0)
        return trace_say(path, strerror(-r));
    return f.text.bytes && is_ours(&f.text) ? trace_say(path, what) : 0;
}

static bool is_named(const struct text *nsswitch)
{
    cleanup_text struct text without = {0};

    nsswitch_unedit(nsswitch, &without);
    return !text_is_same(nsswitch, &without);
}

/* The group as a word of the list: the file has the form of what sshd -T prints. */
static bool is_denying(const struct text *drop_in)
{
    return sshd_denies(drop_in, GROUP_ALL_USERS);
}

static bool is_anything(const struct text *text)
{
    return text->bytes != NULL;
}

static size_t units_trace(void)
{
    struct unit_state states[UNITS_MAX];
    size_t count = 0;
    int r = units_look(our_units, states);

    if (r < 0)
        return trace_say("systemctl show", strerror(-r));
    for (size_t i = 0; our_units[i]; i++) {
        if (!states[i].is_ended)
            count += trace_say(our_units[i], "runs");
        if (states[i].has_links)
            count += trace_say(our_units[i], "is enabled");
    }
    return count;
}

size_t traces_say(void)
{
    return file_look(NSSWITCH, is_named, "names atelier") +
           file_look(SSHD_DROP_IN, is_denying, "is there") +
           file_look(PROFILES, pam_is_enabled, "has our profile (pam-auth-update)") +
           file_look(MANAGER, is_anything, "is there") + units_trace();
}

int purge_check(void)
{
    static const char *const paths[] = {ATELIER_HOMES_DIR, ATELIER_STATE_DIR, ATELIER_RUN_DIR};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct stat st;

        if (lstat(paths[i], &st) < 0) {
            if (errno != ENOENT)
                return step_fail("%s: %s; nothing is purged", paths[i], strerror(errno));
        } else if (S_ISLNK(st.st_mode)) {
            return step_fail("%s is a symbolic link, and what is behind it would stay: nothing is "
                             "purged; undo without --purge, and remove it by hand",
                             paths[i]);
        }
    }
    return 0;
}
