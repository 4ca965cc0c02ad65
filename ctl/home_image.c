/* SPDX-License-Identifier: ISC */
/* home_image.c - homes that are images, for root on the host. */
#include "ctl/home_image.h"

#include <errno.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "common/image.h"
#include "ctl/home_archive.h"
#include "ctl/say.h"
#include "ctl/setup/program.h"

#include "common/banned.h"

/* A check of the whole file system may be needed first. */
#define WITHIN_S 600

bool home_image_is(uid_t uid, struct stat *ret_st)
{
    char path[sizeof(IMAGE_DIR) + 24];
    struct stat st;

    (void)snprintf(path, sizeof(path), IMAGE_DIR "/%u.img", uid);
    return lstat(path, ret_st ? ret_st : &st) == 0;
}

int home_image_place(const char *homes, const char *name, uid_t *ret_uid)
{
    struct stat st;
    int r = home_stat(homes, name, &st);

    if (r < 0)
        return r == -ENOTDIR ? -ENOENT : r;
    if (st.st_uid != 0 || !id_is_allocatable(st.st_gid))
        return -ENOENT;
    *ret_uid = st.st_gid;
    return 0;
}

static int image_run(const char *verb, uid_t uid, const char *name, char **ret_why)
{
    cleanup_text struct text said = {0};
    char number[12];
    int r;

    (void)snprintf(number, sizeof(number), "%u", uid);
    r = program_run(ARGV(IMAGE_PROGRAM, verb, number, name), WITHIN_S, &said);
    if (r == 0)
        return 0;
    *ret_why = program_why(r, &said);
    return -EIO;
}

int home_image_open(uid_t uid, const char *name, char **ret_why)
{
    return image_run("open", uid, name, ret_why);
}

char *home_image_old(const char *name)
{
    return text_format(IMAGE_OLD_PREFIX "%s", name);
}

int home_image_old_remove(uid_t uid, const char *name, char **ret_why)
{
    cleanup_free char *old = home_image_old(name);
    uid_t owner;

    if (home_owner(ATELIER_HOMES_DIR, old, &owner) == -ENOENT)
        return 0;
    return home_remove(ATELIER_HOMES_DIR, old, uid, ret_why);
}

int home_image_settle(uid_t uid, const char *name, char **ret_why)
{
    char mark[sizeof(IMAGE_DIR) + 24];
    struct stat st;

    (void)snprintf(mark, sizeof(mark), IMAGE_DIR "/%u.move", uid);
    return lstat(mark, &st) == 0 ? image_run("settle", uid, name, ret_why) : 0;
}

int home_image_remove(uid_t uid, const char *name, char **ret_why)
{
    return image_run("remove", uid, name, ret_why);
}
