/* SPDX-License-Identifier: ISC */
/*
 * step_keys.c - the host key of atelier-sshd, which its first start makes.
 *
 * What was not there before is remembered, so that --undo leaves /etc as it was. The key itself is
 * kept beside the registry and put back by the next setup: clients know the host by it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ctl/setup/step.h"

#include "common/banned.h"

#define STEP "keys"

static const struct {
    const char *path, *kept; /* NULL: made from the others, not kept */
} made[] = {
    {"/etc/atelier/ssh_host_ed25519_key", SETUP_KEPT "/ssh_host_ed25519_key"},
    {"/etc/atelier/ssh_host_ed25519_key.pub", SETUP_KEPT "/ssh_host_ed25519_key.pub"},
    {"/etc/atelier/known_hosts", NULL},
};
#define MADE_COUNT (sizeof(made) / sizeof(made[0]))

static bool is_to_be_put_back(size_t i)
{
    return made[i].kept && access(made[i].kept, F_OK) == 0 && access(made[i].path, F_OK) < 0;
}

static void keys_plan(struct setup *s)
{
    for (size_t i = 0; i < MADE_COUNT; i++) {
        if (is_to_be_put_back(i))
            plan_say(s, "%s: put back, as an earlier --undo kept it", made[i].path);
    }
}

/* Another file system may be in between. Return: 0 or a negative errno. */
static int file_move(const char *from, const char *to)
{
    cleanup_file struct file f = {0};
    int r = file_read(from, &f);

    if (r == 0 && !f.text.bytes)
        return 0;
    if (r == 0)
        r = file_write(to, &f);
    return r < 0 ? r : file_remove(from);
}

static int keys_apply(struct setup *s)
{
    for (size_t i = 0; i < MADE_COUNT; i++) {
        int r = 0;

        if (access(made[i].path, F_OK) < 0)
            r = record_put(&s->record, ENTRY_MADE, STEP, made[i].path);
        if (r < 0)
            return step_fail("cannot write " SETUP_DIR ": %s", strerror(-r));
        if (is_to_be_put_back(i))
            r = file_move(made[i].kept, made[i].path);
        if (r < 0)
            return step_fail("cannot put %s back from %s: %s", made[i].path, made[i].kept,
                             strerror(-r));
    }
    (void)rmdir(SETUP_KEPT);
    return 0;
}

static int keys_undo(struct setup *s)
{
    for (size_t i = 0; i < MADE_COUNT; i++) {
        int r;

        if (!record_has(&s->record, ENTRY_MADE, made[i].path))
            continue;
        if (made[i].kept && mkdir(SETUP_KEPT, 0700) < 0 && errno != EEXIST)
            return step_fail("cannot make " SETUP_KEPT ": %s", strerror(errno));
        r = made[i].kept ? file_move(made[i].path, made[i].kept) : file_remove(made[i].path);
        if (r < 0)
            return step_fail("cannot take %s away: %s", made[i].path, strerror(-r));
        r = record_drop(&s->record, ENTRY_MADE, made[i].path);
        if (r < 0)
            return step_fail("cannot write " SETUP_DIR ": %s", strerror(-r));
    }
    return 0;
}

const struct step step_keys = {STEP, keys_plan, keys_apply, keys_undo};
