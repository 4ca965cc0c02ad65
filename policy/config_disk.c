/* SPDX-License-Identifier: ISC */
/* config_disk.c - the section `disk` of the policy. */
#include <errno.h>
#include <string.h>

#include "policy/config_draft.h"

#include "common/banned.h"

static int backend_parse(const char *text, enum policy_disk_backend *ret_backend)
{
    for (unsigned i = 0; i < POLICY_DISK__COUNT; i++) {
        if (strcmp(policy_disk_names[i], text) == 0) {
            *ret_backend = (enum policy_disk_backend)i;
            return 0;
        }
    }
    return -EINVAL;
}

int config_disk_take(struct config_drafts *d, struct config_place at, const char *key,
                     const char *text)
{
    struct config_disk *disk = &d->disk;
    char fault[128];

    if (strcmp(key, "backend") == 0) {
        if (backend_parse(text, &disk->said.backend) < 0)
            return config_fault(d, at, "disk: backend: '%.40s' is not auto, quota, image or none",
                                text);
        disk->backend_at = at;
        return 0;
    }
    if (strcmp(key, "required") == 0) {
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return config_fault(d, at, "disk: required: '%.40s' is not true or false", text);
        disk->said.is_required = text[0] == 't';
        disk->required_at = at;
        return 0;
    }
    if (policy_time_parse(text, POLICY_DISK_IDLE_LEAST_MS, POLICY_DISK_IDLE_MOST_MS,
                          &disk->said.idle_ms, fault) < 0)
        return config_fault(d, at, "disk: idle: %s", fault);
    disk->idle_at = at;
    return 0;
}

/* Does a file say how much somebody may have? */
static bool limit_is_said(const struct config_drafts *d)
{
    for (uint32_t i = 0; i < d->count; i++) {
        if (d->drafts[i].at[POLICY_KEY_DISK].line > 0 ||
            d->drafts[i].at[POLICY_KEY_DISK_FILES].line > 0)
            return true;
    }
    return false;
}

/* Whoever names a back end, or a limit, means it. */
int config_disk_join(struct config_drafts *d, struct policy_disk *disk)
{
    if (d->disk.backend_at.line > 0)
        disk->backend = d->disk.said.backend;
    if (d->disk.idle_at.line > 0)
        disk->idle_ms = d->disk.said.idle_ms;
    switch (disk->backend) {
    case POLICY_DISK_AUTO:
        disk->is_required = limit_is_said(d);
        break;
    case POLICY_DISK_QUOTA:
    case POLICY_DISK_IMAGE:
        disk->is_required = true;
        break;
    case POLICY_DISK_NONE:
    case POLICY_DISK__COUNT:
        disk->is_required = false;
    }
    if (d->disk.required_at.line == 0)
        return 0;
    if (disk->backend == POLICY_DISK_NONE && d->disk.said.is_required)
        return config_fault(d, d->disk.required_at,
                            "disk: required: with backend = none nothing holds anybody");
    disk->is_required = d->disk.said.is_required;
    return 0;
}
