/* SPDX-License-Identifier: ISC */
/* payload.c - pack and unpack the program of a run. */
#include "common/payload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"

#include "common/banned.h"

static bool code_name_is_valid(const char *name)
{
    size_t len = strnlen(name, PAYLOAD_CODE_NAME);

    return len > 0 && len < PAYLOAD_CODE_NAME && name[0] != '.' && !memchr(name, '/', len);
}

static int strings_measure(char *const v[], uint32_t max, uint32_t *ret_n, size_t *bytes)
{
    uint32_t n;

    for (n = 0; v[n]; n++) {
        if (n == max)
            return -E2BIG;
        *bytes += strlen(v[n]) + 1;
        if (*bytes > PAYLOAD_SIZE_MAX)
            return -E2BIG;
    }
    *ret_n = n;
    return 0;
}

static int strings_write(int fd, char *const v[])
{
    int r;

    for (size_t i = 0; v[i]; i++) {
        r = fd_write_full(fd, v[i], strlen(v[i]) + 1);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The four seals that sessiond asks for, and the read position at the start. */
static int seal(int fd)
{
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -errno;
    return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

int payload_pack(char *const argv[], char *const envp[], const char *code_name, const char *code,
                 size_t code_bytes, int *ret_fd)
{
    struct payload_head head = {.magic = PAYLOAD_MAGIC};
    size_t bytes = sizeof(head);
    cleanup_close int fd = -1;
    int r;

    r = strings_measure(argv, PAYLOAD_ARGC_MAX, &head.argc, &bytes);
    if (r < 0)
        return r;
    r = strings_measure(envp, PAYLOAD_ENVC_MAX, &head.envc, &bytes);
    if (r < 0)
        return r;
    if (head.argc == 0)
        return -EINVAL;
    if (code_name) {
        if (!code_name_is_valid(code_name))
            return -EINVAL;
        if (code_bytes > PAYLOAD_SIZE_MAX - bytes)
            return -E2BIG;
        head.code_bytes = (uint32_t)code_bytes;
        memcpy(head.code_name, code_name, strlen(code_name));
    }

    fd = memfd_create("atelier-payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    r = fd_write_full(fd, &head, sizeof(head));
    if (r == 0)
        r = strings_write(fd, argv);
    if (r == 0)
        r = strings_write(fd, envp);
    if (r == 0 && code_name)
        r = fd_write_full(fd, code, code_bytes);
    if (r == 0)
        r = seal(fd);
    if (r < 0)
        return r;
    *ret_fd = fd_take(&fd);
    return 0;
}

int payload_seal_bytes(const void *bytes, size_t size, int *ret_fd)
{
    cleanup_close int fd = -1;
    int r = 0;

    if (size > PAYLOAD_SIZE_MAX)
        return -E2BIG;
    fd = memfd_create("atelier-stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (size > 0)
        r = fd_write_full(fd, bytes, size);
    if (r == 0)
        r = seal(fd);
    if (r < 0)
        return r;
    *ret_fd = fd_take(&fd);
    return 0;
}

/* Point @count entries of a new vector at the strings from *@pos on; *@pos ends after them. */
static int strings_find(char *mem, size_t size, size_t *pos, uint32_t count, char ***ret_v)
{
    char **v = calloc((size_t)count + 1, sizeof(*v));

    if (!v)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        char *end = memchr(mem + *pos, '\0', size - *pos);

        if (!end) {
            free(v);
            return -EBADMSG;
        }
        v[i] = mem + *pos;
        *pos = (size_t)(end - mem) + 1;
    }
    *ret_v = v;
    return 0;
}

int payload_parse(char *mem, size_t size, struct payload *ret_p)
{
    struct payload_head head;
    struct payload p = {0};
    size_t pos = sizeof(head);
    int r;

    if (size < sizeof(head) || size > PAYLOAD_SIZE_MAX)
        return -EBADMSG;
    memcpy(&head, mem, sizeof(head));
    if (head.magic != PAYLOAD_MAGIC || head.argc == 0 || head.argc > PAYLOAD_ARGC_MAX ||
        head.envc > PAYLOAD_ENVC_MAX)
        return -EBADMSG;
    r = strings_find(mem, size, &pos, head.argc, &p.argv);
    if (r < 0)
        return r;
    r = strings_find(mem, size, &pos, head.envc, &p.envp);
    if (r < 0) {
        payload_done(&p);
        return r;
    }
    if (head.code_bytes != size - pos ||
        (head.code_name[0] ? !code_name_is_valid(head.code_name) : head.code_bytes != 0)) {
        payload_done(&p);
        return -EBADMSG;
    }
    if (head.code_name[0]) {
        p.code_name = mem + offsetof(struct payload_head, code_name);
        p.code = mem + pos;
        p.code_bytes = head.code_bytes;
    }
    *ret_p = p;
    return 0;
}

void payload_done(struct payload *p)
{
    if (!p)
        return;
    free(p->argv);
    free(p->envp);
    *p = (struct payload){0};
}
