/* SPDX-License-Identifier: ISC */
/* adopt_record.c - an adoption that is under way. */
#include "ctl/adopt_record.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/say.h"
#include "ctl/setup/file.h"
#include "ctl/tree.h"

#include "common/banned.h"

void adopt_record_done(struct adopt_record *r)
{
    free(r->home);
    *r = (struct adopt_record){0};
}

int adopt_record_lock(const char *directory)
{
    cleanup_close int fd = -1;
    struct stat st;

    if (mkdir(directory, 0700) < 0 && errno != EEXIST)
        return -errno;
    fd = tree_open_absolute(directory);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
        return -EPERM;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    return fd_take(&fd);
}

static char *record_path(const char *directory, const char *name)
{
    char *path;

    if (asprintf(&path, "%s/%s.json", directory, name) < 0)
        say_no_memory();
    return path;
}

int adopt_record_read(const char *directory, const char *name, struct adopt_record *ret)
{
    cleanup_free char *path = record_path(directory, name);
    json_int_t old_uid, old_gid, uid, created_s, ino = 0, mode = 0;
    cleanup_file struct file f = {0};
    cleanup_json json_t *json = NULL;
    const char *home;
    int r = file_read(path, &f);

    if (r < 0)
        return r;
    if (!f.text.bytes)
        return -ENOENT;
    json = json_loadb(f.text.bytes, f.text.size, JSON_REJECT_DUPLICATES, NULL);
    if (json_unpack(json, "{s:I, s:I, s:I, s:I, s:s, s?I, s?I !}", "old_uid", &old_uid, "old_gid",
                    &old_gid, "uid", &uid, "created_s", &created_s, "home", &home, "home_ino", &ino,
                    "home_mode", &mode) < 0 ||
        old_uid < 1 || old_uid > UINT32_MAX || old_gid < 0 || old_gid > UINT32_MAX || uid < 0 ||
        uid > UINT32_MAX || mode < 0 || mode > 07777)
        return -EBADMSG;
    ret->old_uid = (uint32_t)old_uid;
    ret->old_gid = (uint32_t)old_gid;
    ret->uid = (uint32_t)uid;
    ret->created_s = created_s;
    ret->mark = (struct home_mark){.ino = (uint64_t)ino, .mode = (uint32_t)mode};
    ret->home = strdup(home);
    if (!ret->home)
        say_no_memory();
    return 0;
}

int adopt_record_write(const char *directory, const char *name, const struct adopt_record *r)
{
    cleanup_free char *path = record_path(directory, name);
    cleanup_json json_t *json =
        json_pack("{s:I, s:I, s:I, s:I, s:s, s:I, s:I}", "old_uid", (json_int_t)r->old_uid,
                  "old_gid", (json_int_t)r->old_gid, "uid", (json_int_t)r->uid, "created_s",
                  (json_int_t)r->created_s, "home", r->home, "home_ino", (json_int_t)r->mark.ino,
                  "home_mode", (json_int_t)r->mark.mode);
    cleanup_free char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    cleanup_file struct file f = {.mode = 0600, .uid = geteuid(), .gid = getegid()};

    if (!text) /* the path of the home is not UTF-8 */
        return -EILSEQ;
    f.text = text_of(text, strlen(text));
    return file_write(path, &f);
}

int adopt_record_remove(const char *directory, const char *name)
{
    cleanup_free char *path = record_path(directory, name);

    return file_remove(path);
}
