/* SPDX-License-Identifier: ISC */
/*
 * step_ids.c - nobody on the host has an id or a name that is to be a participant's. Looks only.
 *
 * 60000 and up is no obstacle, although the NSS module answers up to 65000: nothing of ours is ever
 * allocated there, the network rules end at 59999, and Debian's static ids (libvirt-qemu, 64055)
 * and systemd's dynamic ones live there.
 */
#include "ctl/setup/ids.h"
#include "ctl/setup/step.h"

#include "common/banned.h"

static void on_found(void *arg, const char *text)
{
    refuse(arg, "%s", text);
}

static void on_unseen(void *arg, const char *text)
{
    note_say(arg, "%s", text);
}

static void ids_plan(struct setup *s)
{
    const struct ids_sink strict = {on_found, on_found, s};
    const struct ids_sink sink = {on_found, on_unseen, s};

    ids_files_look(&strict);
    ids_sub_look(&strict);
    ids_sources_look(&sink);
    ids_names_look(&sink);
}

const struct step step_ids = {"ids", ids_plan, NULL, NULL};
