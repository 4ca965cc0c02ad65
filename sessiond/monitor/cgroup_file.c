/* SPDX-License-Identifier: ISC */
/* cgroup_file.c - files and directories of control groups. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "sessiond/monitor/cgroup_internal.h"

#include "common/banned.h"

#define TEXT_ROOM 4096
#define PROCS_ROOM                                                                                 \
    65536 /* as many lines as a group of ours may have processes, many times over                  \
           */
#define DIR_MODE 0755

int cgroup_write(int dir, const char *file, const char *text)
{
    cleanup_close int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(text);
    ssize_t n;

    if (fd < 0)
        return -errno;
    /* In one piece: the kernel takes each write(2) as a whole command. */
    n = write(fd, text, len);
    if (n < 0)
        return -errno;
    return (size_t)n == len ? 0 : -EIO;
}

int cgroup_write_u64(int dir, const char *file, uint64_t v)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, v);
    return cgroup_write(dir, file, text);
}

static int number_parse(const char *text, uint64_t *ret_v)
{
    char *end;
    uint64_t v;

    if (strncmp(text, "max", 3) == 0) {
        *ret_v = UINT64_MAX;
        return 0;
    }
    if (*text < '0' || *text > '9')
        return -EPROTO;
    errno = 0;
    v = strtoull(text, &end, 10);
    if (errno != 0 || (*end != '\0' && *end != '\n' && *end != ' '))
        return -EPROTO;
    *ret_v = v;
    return 0;
}

int cgroup_read_u64(int dir, const char *file, uint64_t *ret_v)
{
    char text[TEXT_ROOM];
    int r = file_read_text(dir, file, text, sizeof(text));

    return r < 0 ? r : number_parse(text, ret_v);
}

int cgroup_read_key(int dir, const char *file, const char *key, uint64_t *ret_v)
{
    size_t len = strlen(key);
    char text[TEXT_ROOM];
    int r = file_read_text(dir, file, text, sizeof(text));

    if (r < 0)
        return r;
    for (const char *line = text; *line;) {
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            return number_parse(line + len + 1, ret_v);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return -ENOENT;
}

bool cgroup_procs_has(int dir, pid_t pid)
{
    static char text[PROCS_ROOM];
    char line[16];
    const char *at;
    int len;

    if (file_read_text(dir, "cgroup.procs", text, sizeof(text)) < 0)
        return false;
    len = snprintf(line, sizeof(line), "%d\n", pid);
    for (at = text; (at = strstr(at, line)); at += len) {
        if (at == text || at[-1] == '\n')
            return true;
    }
    return false;
}

void cgroup_node_init(struct cgroup_node *node)
{
    for (int i = 0; i < CGROUP_TREES_MAX; i++)
        node->dirs[i] = -1;
}

void cgroup_node_close(struct cgroup_node *node)
{
    for (int i = 0; i < CGROUP_TREES_MAX; i++)
        cleanup_close_p(&node->dirs[i]);
    cgroup_node_init(node);
}

int cgroup_node_open(const struct cgroup_node *parent, const char *name,
                     struct cgroup_node *ret_node)
{
    struct cgroup_node node;

    cgroup_node_init(&node);
    for (int i = 0; i < CGROUP_TREES_MAX; i++) {
        if (parent->dirs[i] < 0)
            continue;
        node.dirs[i] = openat(parent->dirs[i], name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (node.dirs[i] < 0) {
            int r = -errno;

            cgroup_node_close(&node);
            return r;
        }
    }
    *ret_node = node;
    return 0;
}

int cgroup_node_make(const struct cgroup_node *parent, const char *name)
{
    int r = 0;

    for (int i = 0; i < CGROUP_TREES_MAX; i++) {
        if (parent->dirs[i] < 0 || mkdirat(parent->dirs[i], name, DIR_MODE) == 0)
            continue;
        if (errno != EEXIST)
            return -errno;
        r = -EEXIST;
    }
    return r;
}

int cgroup_node_remove(const struct cgroup_node *parent, const char *name)
{
    int r = 0;

    for (int i = 0; i < CGROUP_TREES_MAX; i++) {
        /* ENODEV: so is the parent. Source: kernfs_iop_rmdir() of the kernel. */
        if (parent->dirs[i] >= 0 && unlinkat(parent->dirs[i], name, AT_REMOVEDIR) < 0 &&
            errno != ENOENT && errno != ENODEV)
            r = -errno;
    }
    return r;
}
