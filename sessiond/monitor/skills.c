/* SPDX-License-Identifier: ISC */
/*
 * skills.c - the skills of this host, as a policy means them.
 *
 * What others could write to would be code that runs as somebody else: so the store and the
 * version are looked at each time. What is in a version is not: nobody but root can change it, and
 * `atelier skill verify` says whether root has.
 */
#include "sessiond/monitor/skills.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "sessiond/monitor/mountapi.h"

#include "common/banned.h"

static int roots_check(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    return st.st_uid == 0 && (st.st_mode & 022) == 0 ? 0 : -EPERM;
}

static int store_open(void)
{
    cleanup_close int fd = open_plain(SKILL_STORE, O_PATH | O_DIRECTORY);
    int r = fd < 0 ? fd : roots_check(fd);

    return r < 0 ? r : fd_take(&fd);
}

int skills_open(const char *pinned)
{
    cleanup_close int store = store_open(), fd = -1;
    int r;

    if (store < 0)
        return store;
    fd = open_beneath(store, pinned, O_PATH | O_DIRECTORY);
    r = fd < 0 ? fd : roots_check(fd);
    return r < 0 ? r : fd_take(&fd);
}

/* What the link NAME says. Its text is looked at and never followed. */
static int newest_find(const char *name, char ret_pinned[SKILL_SIZE])
{
    cleanup_close int store = store_open();
    char text[SKILL_SIZE + 1];
    ssize_t n;

    if (store < 0)
        return store;
    n = readlinkat(store, name, text, sizeof(text) - 1);
    if (n < 0)
        return errno == EINVAL ? -EBADMSG : -errno;
    text[n] = '\0';
    if (strlen(text) != (size_t)n || !skill_is_pinned(text) || !skill_name_is_same(text, name))
        return -EBADMSG;
    return str_copy(ret_pinned, SKILL_SIZE, text);
}

int skills_pin(const char *text, char ret_pinned[SKILL_SIZE])
{
    char pinned[SKILL_SIZE] = {0};
    cleanup_close int fd = -1;
    int r;

    r = skill_is_pinned(text) ? str_copy(pinned, sizeof(pinned), text) : newest_find(text, pinned);
    if (r < 0)
        return r;
    fd = skills_open(pinned);
    if (fd < 0)
        return fd;
    memcpy(ret_pinned, pinned, sizeof(pinned));
    return 0;
}
