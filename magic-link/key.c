/* SPDX-License-Identifier: ISC */
/*
 * key.c - load or make the key of all link hashes.
 *
 * The order of making it: lock of the directory (two makers would write into one temporary file),
 * temporary file, fsync, rename that replaces nothing, fsync of the directory. A key that is used
 * before it is durable would make links that nobody can redeem after a crash.
 *
 * A key that others could read or put there is worse than none: it would let them guess codes in
 * a copy of the database. So it is refused, and an administrator has to look at it.
 */
#include "magic-link/key.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"

#include "common/banned.h"

/* --- the file ------------------------------------------------------------------------------ */

/* registry/ below the state directory, ours and closed to others, as registry_open() wants it. */
static int dir_open(const char *state_dir, int *ret_fd)
{
    cleanup_close int state_fd = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    cleanup_close int fd = -1;
    struct stat st;

    if (state_fd < 0)
        return -errno;
    fd = openat(state_fd, KEY_DIR_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
        return -EPERM;
    *ret_fd = fd_take(&fd);
    return 0;
}

/* A regular file of ours with one name, which nobody else may open. */
static bool is_private(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink == 1 &&
           (st->st_mode & 077) == 0;
}

static int file_read(int dir_fd, struct key *ret_key)
{
    /* O_NONBLOCK: a fifo must not hold us up. */
    cleanup_close int fd =
        openat(dir_fd, KEY_FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct key key = {0};
    struct stat st;
    size_t n = 0;
    int r;

    if (fd < 0)
        return errno == ELOOP || errno == ENXIO ? -EPERM : -errno; /* a link, a socket */
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!is_private(&st))
        return -EPERM;
    if (st.st_size != KEY_SIZE)
        return -EBADMSG;
    r = fd_read_full(fd, key.bytes, sizeof(key.bytes), &n);
    if (r == 0 && n != sizeof(key.bytes))
        r = -EBADMSG;
    if (r == 0)
        *ret_key = key;
    sodium_memzero(&key, sizeof(key));
    return r;
}

static int temp_write(int dir_fd)
{
    cleanup_close int fd =
        openat(dir_fd, KEY_TEMP_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct key key;
    int r;

    if (fd < 0)
        return -errno;
    randombytes_buf(&key, sizeof(key));
    /* The umask may have taken rights of ours away. */
    r = fchmod(fd, 0600) < 0 ? -errno : fd_write_full(fd, key.bytes, sizeof(key.bytes));
    sodium_memzero(&key, sizeof(key));
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    return r;
}

/* Return: 0, also if somebody else's key was there first. */
static int file_make(int dir_fd)
{
    int r;

    if (unlinkat(dir_fd, KEY_TEMP_NAME, 0) < 0 && errno != ENOENT)
        return -errno;
    r = temp_write(dir_fd);
    if (r == 0 && renameat2(dir_fd, KEY_TEMP_NAME, dir_fd, KEY_FILE_NAME, RENAME_NOREPLACE) < 0 &&
        errno != EEXIST)
        r = -errno;
    (void)unlinkat(dir_fd, KEY_TEMP_NAME, 0); /* not there after the rename */
    if (r == 0 && fsync(dir_fd) < 0)
        r = -errno;
    return r;
}

static int dir_lock(int dir_fd)
{
    int r;

    do {
        r = flock(dir_fd, LOCK_EX);
    } while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

int key_load(const char *state_dir, struct key *ret_key)
{
    cleanup_close int dir_fd = -1; /* closing it gives the lock back */
    int r = dir_open(state_dir, &dir_fd);

    if (r == 0)
        r = dir_lock(dir_fd);
    if (r < 0)
        return r;
    r = file_read(dir_fd, ret_key);
    if (r != -ENOENT)
        return r;
    r = file_make(dir_fd);
    return r < 0 ? r : file_read(dir_fd, ret_key);
}

/* --- the hash ------------------------------------------------------------------------------ */

/* Exactly as long as BLAKE2b's personal parameter (RFC 7693 2.5, libsodium); no NUL. */
static const char *personal_of(enum key_domain domain)
{
    switch (domain) {
    case KEY_DOMAIN_TOKEN:
        return "atelier-token-v1";
    case KEY_DOMAIN_CODE:
        return "atelier-code--v1";
    case KEY_DOMAIN_NONE:
        break;
    }
    return "atelier-none--v1";
}

void key_hash(const struct key *key, enum key_domain domain, const struct secret *secret,
              struct secret_hash *ret_hash)
{
    _Static_assert(sizeof("atelier-token-v1") - 1 == crypto_generichash_blake2b_PERSONALBYTES,
                   "personal parameter of BLAKE2b");
    int r = crypto_generichash_blake2b_salt_personal(
        ret_hash->bytes, sizeof(ret_hash->bytes), secret->bytes, secret->size, key->bytes,
        sizeof(key->bytes), NULL, (const unsigned char *)personal_of(domain));

    assert(r == 0); /* fails for wrong sizes only */
    (void)r;
}
