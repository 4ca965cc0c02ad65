/* SPDX-License-Identifier: ISC */
/* plan.c - what a run gets, as data. */
#include "policy/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/str.h"

#include "common/banned.h"

#define MIB (1ull << 20)

#define DIR_AT(path, perm)                                                                         \
    {                                                                                              \
        .op = PLAN_DIR, .target = path, .mode = perm                                               \
    }
#define BIND_AT(path)                                                                              \
    {                                                                                              \
        .op = PLAN_BIND, .target = path, .source = "/" path, .optional = true                      \
    }
#define COPY_AT(path)                                                                              \
    {                                                                                              \
        .op = PLAN_COPY, .target = path, .source = "/" path, .optional = true                      \
    }
#define ROOT_AT(path)                                                                              \
    {                                                                                              \
        .op = PLAN_ROOT, .target = path, .source = "/" path                                        \
    }
#define LINK_AT(path, to)                                                                          \
    {                                                                                              \
        .op = PLAN_LINK, .target = path, .source = to                                              \
    }
#define TEXT_AT(path, content)                                                                     \
    {                                                                                              \
        .op = PLAN_TEXT, .target = path, .source = content, .mode = 0444                           \
    }
#define NODE_AT(path, maj, min)                                                                    \
    {                                                                                              \
        .op = PLAN_NODE, .target = path, .mode = 0666, .bytes = maj, .inodes = min                 \
    }
#define TMPFS_AT(path, perm, b, i)                                                                 \
    {                                                                                              \
        .op = PLAN_TMPFS, .target = path, .mode = perm, .bytes = b, .inodes = i                    \
    }

/* clang-format off */
const struct plan_entry plan_base[] = {
    DIR_AT("usr", 0755),
    {.op = PLAN_BIND, .target = "usr", .source = "/usr"},
    ROOT_AT("bin"), ROOT_AT("sbin"), ROOT_AT("lib"),
    ROOT_AT("lib32"), ROOT_AT("lib64"), ROOT_AT("libx32"),

    DIR_AT("proc", 0555), DIR_AT("sys", 0555), DIR_AT("run", 0755), DIR_AT("tmp", 0755),
    DIR_AT(PLAN_LOG_DIR, 0700),
    DIR_AT(PLAN_NO_DIR, 0),
    {.op = PLAN_TEXT, .target = PLAN_NO_FILE, .source = "", .mode = 0},
    {.op = PLAN_SOCKET, .target = PLAN_LOG_DIR "/log", .source = "/dev/log", .optional = true},
    DIR_AT("skills", 0755), DIR_AT("home", 0755), DIR_AT("root", 0700), DIR_AT("var", 0755), DIR_AT("var/tmp", 0755),

    /* Directories of /etc are bound, so that ca-certificates and alternatives stay current. */
    DIR_AT("etc", 0755),
    DIR_AT("etc/alternatives", 0755), BIND_AT("etc/alternatives"),
    DIR_AT("etc/fonts", 0755), BIND_AT("etc/fonts"),
    DIR_AT("etc/ld.so.conf.d", 0755), BIND_AT("etc/ld.so.conf.d"),
    DIR_AT("etc/python3", 0755), BIND_AT("etc/python3"),
    DIR_AT("etc/python3.11", 0755), BIND_AT("etc/python3.11"),
    DIR_AT("etc/python3.13", 0755), BIND_AT("etc/python3.13"),
    DIR_AT("etc/perl", 0755), BIND_AT("etc/perl"),
    DIR_AT("etc/profile.d", 0755), BIND_AT("etc/profile.d"),
    DIR_AT("etc/ssl", 0755),
    DIR_AT("etc/ssl/certs", 0755), BIND_AT("etc/ssl/certs"),
    DIR_AT("etc/terminfo", 0755), BIND_AT("etc/terminfo"),
    COPY_AT("etc/bash.bashrc"), COPY_AT("etc/ca-certificates.conf"), COPY_AT("etc/debian_version"),
    COPY_AT("etc/ethertypes"), COPY_AT("etc/gai.conf"), COPY_AT("etc/host.conf"),
    COPY_AT("etc/inputrc"), COPY_AT("etc/ld.so.cache"), COPY_AT("etc/ld.so.conf"),
    COPY_AT("etc/localtime"), COPY_AT("etc/magic"), COPY_AT("etc/magic.mime"),
    COPY_AT("etc/mime.types"), COPY_AT("etc/networks"), COPY_AT("etc/os-release"),
    COPY_AT("etc/profile"), COPY_AT("etc/protocols"), COPY_AT("etc/rpc"),
    COPY_AT("etc/services"), COPY_AT("etc/shells"), COPY_AT("etc/ssl/openssl.cnf"),
    COPY_AT("etc/timezone"),
    TEXT_AT("etc/hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"),
    TEXT_AT("etc/nsswitch.conf",
            "passwd: files\ngroup: files\nshadow: files\ngshadow: files\nhosts: files dns\n"
            "networks: files\nprotocols: files\nservices: files\nethers: files\nrpc: files\n"),
    /* The run's own passwd and group lie in a file system of its own, plan_run. */
    DIR_AT("etc/atelier", 0755),
    LINK_AT("etc/passwd", "atelier/passwd"), LINK_AT("etc/group", "atelier/group"),
    LINK_AT("etc/mtab", "../proc/self/mounts"),

    DIR_AT("dev", 0755), TMPFS_AT("dev", 0755, 1 * MIB, 64),
    /* Numbers: Documentation/admin-guide/devices.txt of the kernel. */
    NODE_AT("dev/null", 1, 3), NODE_AT("dev/zero", 1, 5), NODE_AT("dev/full", 1, 7),
    NODE_AT("dev/random", 1, 8), NODE_AT("dev/urandom", 1, 9),
    LINK_AT("dev/fd", "/proc/self/fd"), LINK_AT("dev/stdin", "fd/0"),
    LINK_AT("dev/stdout", "fd/1"), LINK_AT("dev/stderr", "fd/2"),
    DIR_AT("dev/shm", 0755),
    /* Of use in sessions only: a run has no terminal, and no devpts on dev/pts. */
    NODE_AT("dev/tty", 5, 0), DIR_AT("dev/pts", 0755), LINK_AT("dev/ptmx", "pts/ptmx"),
    /* syslog(3) of sshd's monitor, which lives in a session's tree; nobody else may pass here. */
    LINK_AT("dev/log", "/" PLAN_LOG_DIR "/log"),
    {.op = PLAN_SEAL, .target = "dev"},
};
const size_t plan_base_count = sizeof(plan_base) / sizeof(plan_base[0]);

/* clang-format on */

#define OPEN                           true
#define MASKED                         false
#define NAME(name, is_open, what, why) {name, is_open, what, why},
const struct plan_proc plan_proc[] = {
#include "policy/proc.def"
};
#undef NAME
const size_t plan_proc_count = sizeof(plan_proc) / sizeof(plan_proc[0]);

/* System accounts by Debian policy 9.2.2, and nobody. */
static bool is_system_id(uint32_t id)
{
    return id < 1000 || id == 65534;
}

/* Where the field with this number of colons before it begins, or NULL. */
static const char *field_at(const char *line, const char *end, int colons)
{
    for (const char *p = line; p < end; p++) {
        if (colons == 0)
            return p;
        if (*p == ':')
            colons--;
    }
    return colons == 0 ? end : NULL;
}

static size_t field_length(const char *field, const char *end)
{
    const char *colon = memchr(field, ':', (size_t)(end - field));

    return (size_t)((colon ? colon : end) - field);
}

static bool line_is_system(const char *line, const char *end)
{
    const char *id = field_at(line, end, 2);
    char number[12] = {0};
    uint32_t value;
    size_t len;

    if (!id)
        return false;
    len = field_length(id, end);
    if (len == 0 || len >= sizeof(number))
        return false;
    memcpy(number, id, len);
    return str_to_u32(number, UINT32_MAX, &value) == 0 && is_system_id(value);
}

int plan_system_lines(const char *text, bool is_group, char **ret_text)
{
    /* A line grows by one byte at most, where the password field was empty. */
    size_t room = 2 * strlen(text) + 2, used = 0;
    char *out = malloc(room);

    if (!out)
        return -ENOMEM;
    while (*text) {
        const char *end = text + strcspn(text, "\n");

        if (line_is_system(text, end)) {
            const char *rest = field_at(text, end, 2);
            size_t name = field_length(text, end);
            size_t tail = is_group ? field_length(rest, end) + 1 : (size_t)(end - rest);

            if (rest + tail <= end && used + name + 3 + tail + 2 <= room) {
                memcpy(out + used, text, name);
                memcpy(out + used + name, ":*:", 3);
                memcpy(out + used + name + 3, rest, tail);
                used += name + 3 + tail;
                out[used++] = '\n';
            }
        }
        text = *end ? end + 1 : end;
    }
    out[used] = '\0';
    *ret_text = out;
    return 0;
}

int plan_resolv_conf(const char *const addresses[], size_t count, char **ret_text)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return -ENOMEM;
    if (count == 0)
        (void)fputs("# No resolver is open to runs: start sessiond with --resolver ADDRESS.\n", f);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(f, "nameserver %s\n", addresses[i]);
    (void)fputs("options timeout:2 attempts:2\n", f);
    if (fclose(f) != 0) {
        free(text);
        return -ENOMEM;
    }
    *ret_text = text;
    return 0;
}
