/* SPDX-License-Identifier: ISC */
/*
 * step_user_manager.c - no systemd --user for participants.
 *
 * A unit in a home would run outside of every session, at the next login or by lingering. The
 * drop-in makes user@UID.service refuse the range, whoever asks for it.
 */
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/setup/program.h"
#include "ctl/setup/step.h"

#include "common/banned.h"

#define SHIPPED    ATELIER_DATA_DIR "/user@.conf"
#define DROP_IN    "/etc/systemd/system/user@.service.d/atelier.conf"
#define RELOAD_DUE "daemon-reload"
#define TIMEOUT_S  60

static const struct edit drop_in = {
    .step = "user-manager",
    .path = DROP_IN,
    .why = "no systemd --user for participants",
    .mode = 0644,
    .shipped = SHIPPED,
};

static int manager_reload(struct setup *s)
{
    if (must_run(ARGV("/usr/bin/systemctl", "daemon-reload"), TIMEOUT_S) < 0)
        return -1;
    return record_drop(&s->record, ENTRY_MARK, RELOAD_DUE) < 0 ? -1 : 0;
}

static void user_manager_plan(struct setup *s)
{
    edit_plan(s, &drop_in);
    if (record_has(&s->record, ENTRY_MARK, RELOAD_DUE) && edit_is_done(s, &drop_in))
        plan_say(s, "systemctl daemon-reload, which an earlier setup did not come to");
}

static int user_manager_apply(struct setup *s)
{
    cleanup_text struct text paths = {0};
    int r;

    if (!edit_is_done(s, &drop_in)) {
        r = record_put(&s->record, ENTRY_MARK, drop_in.step, RELOAD_DUE);
        if (r < 0)
            return step_fail("cannot write " SETUP_DIR ": %s", strerror(-r));
        if (edit_apply(s, &drop_in) < 0)
            return -1;
    }
    if (!record_has(&s->record, ENTRY_MARK, RELOAD_DUE))
        return 0;
    if (manager_reload(s) < 0)
        return -1;
    r = program_run(
        ARGV("/usr/bin/systemctl", "show", "--property=DropInPaths", "user@10000.service"),
        TIMEOUT_S, &paths);
    return r == 0 && strstr(paths.bytes, DROP_IN)
               ? 0
               : step_fail("systemd does not read " DROP_IN ": systemctl cat user@10000.service");
}

static int user_manager_undo(struct setup *s)
{
    int r;

    if (record_has(&s->record, ENTRY_FILE, DROP_IN)) {
        r = record_put(&s->record, ENTRY_MARK, drop_in.step, RELOAD_DUE);
        if (r < 0)
            return step_fail("cannot write " SETUP_DIR ": %s", strerror(-r));
        if (edit_undo(s, &drop_in) < 0)
            return -1;
    }
    if (directories_undo(s, drop_in.step) < 0)
        return -1;
    return record_has(&s->record, ENTRY_MARK, RELOAD_DUE) ? manager_reload(s) : 0;
}

const struct step step_user_manager = {"user-manager", user_manager_plan, user_manager_apply,
                                       user_manager_undo};
