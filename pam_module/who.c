/* SPDX-License-Identifier: ISC */
/* who.c - whether a login is one of ours. */
#include "pam_module/who.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "common/ids.h"

#include "common/banned.h"

#define PASSWD_ROOM     1024u
#define PASSWD_ROOM_MAX (1024u * 1024u)

/*
 * The reentrant call alone: getpwnam(3) would overwrite what the host got from it. The buffer is on
 * the heap, because nobody knows how large the entry of a foreign source is.
 *
 * Return: 0, -ENOENT if nobody has the name, or a negative errno.
 */
static int passwd_uid(const char *name, uint32_t *ret_uid)
{
    for (size_t room = PASSWD_ROOM; room <= PASSWD_ROOM_MAX; room *= 2) {
        struct passwd pw, *found = NULL;
        char *buffer = malloc(room);
        int r;

        if (!buffer)
            return -ENOMEM;
        do {
            r = getpwnam_r(name, &pw, buffer, room, &found);
        } while (r == EINTR);
        /* A source that folds case gives another name than the one that was asked for. */
        if (r == 0 && found && strcmp(pw.pw_name, name) == 0)
            *ret_uid = pw.pw_uid;
        else if (r == 0)
            r = ENOENT;
        free(buffer);
        if (r != ERANGE)
            return -r;
    }
    return -ERANGE;
}

void who_get(pam_handle_t *pamh, struct who *ret_who)
{
    const void *user = NULL;
    struct who who = {0};
    uint32_t uid = 0;

    if (pam_get_item(pamh, PAM_USER, &user) == PAM_SUCCESS && name_is_valid(user) &&
        passwd_uid(user, &uid) == 0 && id_is_allocatable(uid) &&
        str_copy(who.name, sizeof(who.name), user) == 0) {
        who.is_ours = true;
        who.uid = uid;
    }
    *ret_who = who;
}
