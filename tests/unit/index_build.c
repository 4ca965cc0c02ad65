/* SPDX-License-Identifier: ISC */
/* index_build.c - index files for tests, written with TinyCDB. */
#include "tests/unit/index_build.h"

#include <cdb.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"

#include "common/banned.h"

#define PATH_BYTES 512

/* A record and its slots: cdb's tables have two slots per record. */
static size_t record_bytes(size_t key_n, size_t data_n)
{
    return 8 + key_n + data_n + 16;
}

static size_t content_bytes(const struct index_content *c)
{
    size_t n = INDEX_META_OFFSET + record_bytes(1, sizeof(struct index_meta));

    n += c->user_count * record_bytes(5, sizeof(struct index_user));
    n += c->group_count * record_bytes(5, sizeof(struct index_group));
    for (size_t i = 0; i < c->user_count; i++)
        n += record_bytes(1 + strlen(c->users[i].name), sizeof(struct index_user));
    for (size_t i = 0; i < c->group_count; i++)
        n += record_bytes(1 + strlen(c->groups[i].name), sizeof(struct index_group));
    for (size_t i = 0; i < c->member_count; i++)
        n += record_bytes(1 + strlen(c->members[i].name), c->members[i].gid_count * 4);
    return n;
}

static int add_id(struct cdb_make *cdb, char tag, uint32_t id, const void *data, size_t n)
{
    unsigned char key[5] = {(unsigned char)tag};

    id = htole32(id);
    memcpy(key + 1, &id, sizeof(id));
    return cdb_make_add(cdb, key, sizeof(key), data, (unsigned)n);
}

static int add_name(struct cdb_make *cdb, char tag, const char *name, const void *data, size_t n)
{
    char key[1 + NAME_SIZE] = {tag};

    memcpy(key + 1, name, strlen(name));
    return cdb_make_add(cdb, key, (unsigned)(1 + strlen(name)), data, (unsigned)n);
}

static struct index_user user_le(struct index_user user)
{
    user.uid = htole32(user.uid);
    user.gid = htole32(user.gid);
    user.shell = htole32(user.shell);
    return user;
}

static struct index_group group_le(struct index_group group)
{
    group.gid = htole32(group.gid);
    return group;
}

static int add_members(struct cdb_make *cdb, const struct index_members *m)
{
    uint32_t gids[INDEX_GROUPS_MAX];

    for (size_t i = 0; i < m->gid_count; i++)
        gids[i] = htole32(m->gids[i]);
    return add_name(cdb, 'm', m->name, gids, m->gid_count * 4);
}

static int add_all(struct cdb_make *cdb, const struct index_content *c)
{
    struct index_meta meta = {
        .version = htole32(c->version ? c->version : INDEX_VERSION),
        .size_bytes = htole32((uint32_t)content_bytes(c)),
        .generation = htole64(c->generation),
        .user_count = htole32((uint32_t)c->user_count),
        .group_count = htole32((uint32_t)c->group_count),
    };
    int r;

    memcpy(meta.magic, INDEX_MAGIC, sizeof(meta.magic));
    r = cdb_make_add(cdb, "@", 1, &meta, sizeof(meta));
    for (size_t i = 0; i < c->user_count; i++) {
        struct index_user user = user_le(c->users[i]);

        r |= add_id(cdb, 'u', c->users[i].uid, &user, sizeof(user));
    }
    for (size_t i = 0; i < c->group_count; i++) {
        struct index_group group = group_le(c->groups[i]);

        r |= add_id(cdb, 'g', c->groups[i].gid, &group, sizeof(group));
    }
    for (size_t i = 0; i < c->user_count; i++) {
        struct index_user user = user_le(c->users[i]);

        r |= add_name(cdb, 'n', c->users[i].name, &user, sizeof(user));
    }
    for (size_t i = 0; i < c->group_count; i++) {
        struct index_group group = group_le(c->groups[i]);

        r |= add_name(cdb, 'G', c->groups[i].name, &group, sizeof(group));
    }
    for (size_t i = 0; i < c->member_count; i++)
        r |= add_members(cdb, &c->members[i]);
    return r ? -EIO : 0;
}

static int file_make(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0)
        return -errno;
    if (fchmod(fd, 0644) < 0) {
        (void)close(fd);
        return -errno;
    }
    return fd;
}

int index_build(const char *path, const struct index_content *content)
{
    char temp[PATH_BYTES];
    struct cdb_make cdb;
    struct stat st;
    cleanup_close int fd = -1;
    int r;

    if (snprintf(temp, sizeof(temp), "%s.tmp", path) >= PATH_BYTES)
        return -ENAMETOOLONG;
    (void)unlink(temp);
    fd = file_make(temp);
    if (fd < 0)
        return fd;
    if (cdb_make_start(&cdb, fd) < 0)
        return -EIO;
    r = add_all(&cdb, content);
    if (cdb_make_finish(&cdb) < 0 || fstat(fd, &st) < 0)
        return -EIO;
    if (r == 0 && (size_t)st.st_size != content_bytes(content))
        r = -EINVAL;
    if (r == 0 && rename(temp, path) < 0)
        r = -errno;
    return r;
}

unsigned char *file_load(const char *path, size_t *ret_size)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    unsigned char *bytes;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return NULL;
    bytes = malloc((size_t)st.st_size + 1);
    if (bytes && fd_read_full(fd, bytes, (size_t)st.st_size, ret_size) < 0) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

int file_store(const char *path, const void *bytes, size_t size)
{
    cleanup_close int fd = -1;

    (void)unlink(path);
    fd = file_make(path);
    return fd < 0 ? fd : fd_write_full(fd, bytes, size);
}
