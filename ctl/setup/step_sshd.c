/* SPDX-License-Identifier: ISC */
/*
 * step_sshd.c - the host's own sshd refuses participants.
 *
 * Order: remember that a reload is due; the drop-in; sshd -t and -T, which have to show that it is
 * read and that nobody else's DenyGroups went; reload. When the check fails the drop-in goes again,
 * and sshd was never told: a mistake here must not close the admin's own way in.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "ctl/say.h"
#include "ctl/setup/program.h"
#include "ctl/setup/sshd.h"
#include "ctl/setup/step.h"

#include "common/banned.h"

#define SSHD        SSHD_PROGRAM
#define SSHD_CONFIG "/etc/ssh/sshd_config"
#define SHIPPED     ATELIER_DATA_DIR "/host-sshd.conf"
#define RELOAD_DUE  "reload of the host's sshd"
#define TIMEOUT_S   60

static const struct edit drop_in = {
    .step = "host-sshd",
    .path = SSHD_DROP_IN,
    .why = "the host's own sshd refuses participants; it is reloaded, connections stay",
    .mode = 0644,
    .shipped = SHIPPED,
};

int sshd_run(const char *const *argv, struct text *ret_output)
{
    bool is_made = mkdir("/run/sshd", 0755) == 0;
    int r = program_run(argv, TIMEOUT_S, ret_output);

    if (is_made)
        (void)rmdir("/run/sshd");
    return r;
}

/* The configuration that is in force. Return: 0, or -1 and it was said. */
static int effective_read(struct text *ret)
{
    cleanup_text struct text output = {0};
    cleanup_free char *why = NULL;
    int r = sshd_run(ARGV(SSHD, "-T"), &output);

    if (r == 0) {
        *ret = text_take(&output);
        return 0;
    }
    why = program_why(r, &output);
    return step_fail("the host's sshd does not take its configuration (sshd -T): %s", why);
}

/* An admin's own list for some logins: he alone knows whether participants are meant. */
static void match_note(struct setup *s)
{
    cleanup_text struct text places = {0};
    FILE *out = text_begin(&places);
    size_t count = sshd_match_denials(SSHD_CONFIG, out);

    text_end(&places, out);
    if (count > 0)
        note_say(s,
                 "DenyGroups in a Match block replaces our list for the logins of that block; "
                 "add " GROUP_ALL_USERS " to it: %s",
                 places.bytes);
}

static void host_sshd_plan(struct setup *s)
{
    cleanup_file struct file config = {0};
    cleanup_file struct file options = {0};
    cleanup_text struct text output = {0};
    struct complaint why = {0};
    int r = file_read(SSHD_CONFIG, &config);

    if (access(SSHD, X_OK) < 0) {
        refuse(s, SSHD " is missing: install the Debian package openssh-server");
        return;
    }
    if (r < 0 || !config.text.bytes) {
        refuse(s, SSHD_CONFIG " cannot be read: %s", strerror(r < 0 ? -r : ENOENT));
        return;
    }
    if (sshd_include_check(&config.text, SSHD_DROP_IN, &why) < 0) {
        refuse(s, SSHD_CONFIG ":%zu: %s", why.line, why.what);
    }
    if (file_read("/etc/default/ssh", &options) == 0 && options.text.bytes &&
        sshd_options_check(&options.text, &why) < 0) {
        refuse(s, "/etc/default/ssh:%zu: %s", why.line, why.what);
        return;
    }
    r = sshd_run(ARGV(SSHD, "-T"), &output);
    if (r != 0) {
        cleanup_free char *said = program_why(r, &output);

        refuse(s, "the host's sshd does not take its configuration as it is (sshd -T): %s", said);
        return;
    }
    if (!sshd_uses_pam(&output))
        refuse(s, SSHD_CONFIG ": sshd does not ask PAM (sshd -T shows no \"usepam yes\"), whose "
                              "profile is the second lock of this door: set UsePAM yes");
    match_note(s);
    edit_plan(s, &drop_in);
    if (record_has(&s->record, ENTRY_MARK, RELOAD_DUE) && edit_is_done(s, &drop_in))
        plan_say(s, "the host's sshd: reload, which an earlier setup did not come to");
}

/* Return: 0, or -1 and it was said. */
static int sshd_reload(struct setup *s)
{
    static const char *const services[] = {"ssh.service", "sshd.service"};

    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        if (!unit_is("is-active", services[i]))
            continue;
        if (must_run(ARGV("/usr/bin/systemctl", "reload", services[i]), TIMEOUT_S) < 0)
            return -1;
        if (!unit_is("is-active", services[i]))
            return step_fail("%s is no longer active after its reload: systemctl status %s",
                             services[i], services[i]);
        break;
    }
    /* Otherwise it is started with each connection, or not at all, and reads its files then. */
    return record_drop(&s->record, ENTRY_MARK, RELOAD_DUE) < 0 ? -1 : 0;
}

static int drop_in_verify(const struct text *before)
{
    cleanup_text struct text after = {0};
    cleanup_text struct text output = {0};
    cleanup_free char *missing = NULL;
    int r = sshd_run(ARGV(SSHD, "-t"), &output);

    if (r != 0) {
        cleanup_free char *why = program_why(r, &output);

        return step_fail("sshd -t refuses " SSHD_DROP_IN ": %s", why);
    }
    if (effective_read(&after) < 0)
        return -1;
    if (!sshd_denies(&after, GROUP_ALL_USERS))
        return step_fail("sshd does not read " SSHD_DROP_IN
                         ": sshd -T shows no \"denygroups " GROUP_ALL_USERS "\"");
    missing = sshd_denied_missing(before, &after);
    return missing ? step_fail("with " SSHD_DROP_IN " sshd would no longer refuse the group %s",
                               missing)
                   : 0;
}

static int host_sshd_apply(struct setup *s)
{
    cleanup_text struct text before = {0};
    int r;

    if (edit_is_done(s, &drop_in))
        return record_has(&s->record, ENTRY_MARK, RELOAD_DUE) ? sshd_reload(s) : 0;
    if (effective_read(&before) < 0)
        return -1;
    r = record_put(&s->record, ENTRY_MARK, drop_in.step, RELOAD_DUE);
    if (r < 0)
        return step_fail("cannot write " SETUP_DIR ": %s", strerror(-r));
    r = edit_apply(s, &drop_in);
    if (r == 0)
        r = drop_in_verify(&before);
    if (r < 0) {
        (void)edit_undo(s, &drop_in);
        (void)record_drop(&s->record, ENTRY_MARK, RELOAD_DUE);
        return -1;
    }
    return sshd_reload(s);
}

static int host_sshd_undo(struct setup *s)
{
    cleanup_text struct text effective = {0};
    int r;

    if (record_has(&s->record, ENTRY_FILE, SSHD_DROP_IN)) {
        r = record_put(&s->record, ENTRY_MARK, drop_in.step, RELOAD_DUE);
        if (r < 0)
            return step_fail("cannot write " SETUP_DIR ": %s", strerror(-r));
        if (edit_undo(s, &drop_in) < 0)
            return -1;
    }
    if (directories_undo(s, drop_in.step) < 0)
        return -1;
    if (!record_has(&s->record, ENTRY_MARK, RELOAD_DUE))
        return 0;
    /* Somebody else's mistake: a reload would end it. It runs on as it is. */
    return effective_read(&effective) < 0 ? -1 : sshd_reload(s);
}

const struct step step_host_sshd = {"host-sshd", host_sshd_plan, host_sshd_apply, host_sshd_undo};
