/* SPDX-License-Identifier: ISC */
/*
 * fuzz_index.c - the index reader on files that anybody may have written.
 *
 * With libFuzzer (out of tree, after ./configure; 60 seconds are enough to see every branch):
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -include config.h -I SOURCE -o fuzz_index \
 *       SOURCE/tests/fuzz/fuzz_index.c SOURCE/common/index_read.c SOURCE/common/str.c
 *   ./fuzz_index -max_len=8192 -max_total_time=60 CORPUS
 * With -DFUZZ_REPLAY and any compiler it is a program that replays the files it is given.
 *
 * A checksum would keep the fuzzer out, and so does the size in the meta record: it is put right
 * here, unless the first byte of the input is odd. What is looked for besides crashes: an answer
 * that breaks the promise of common/index_read.h, which aborts.
 */
#include "common/index_read.h"

#include <endian.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ids.h"

#include "common/banned.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static char dir[] = "/tmp/atelier-fuzz-XXXXXX";
static char path[sizeof(dir) + sizeof("/" INDEX_FILE_NAME)];

static void promise(bool is_kept)
{
    if (!is_kept)
        abort();
}

static void dir_remove(void)
{
    (void)unlink(path);
    (void)rmdir(dir);
}

static void dir_make(void)
{
    if (path[0])
        return;
    promise(mkdtemp(dir) != NULL && chmod(dir, 0755) == 0);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, INDEX_FILE_NAME);
    (void)atexit(dir_remove);
}

static void file_write(const unsigned char *data, size_t size)
{
    size_t at = INDEX_META_OFFSET + 8 + 1 + offsetof(struct index_meta, size_bytes);
    uint32_t right = htole32((uint32_t)size);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    promise(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    if (size >= at + sizeof(right) && data[0] % 2 == 0)
        promise(pwrite(fd, &right, sizeof(right), (off_t)at) == sizeof(right));
    (void)close(fd);
}

static void user_check(const struct index_user *user)
{
    promise(id_is_outer(user->uid) && id_is_outer(user->gid));
    promise(name_is_valid_n(user->name, sizeof(user->name)));
}

static void group_check(const struct index_group *group)
{
    promise(id_is_outer(group->gid));
    promise(name_is_valid_n(group->name, sizeof(group->name)));
}

static void all_list(const struct index *ix)
{
    uint32_t gids[INDEX_GROUPS_MAX], after = 0, place = 0;
    struct index_group group, group_again;
    struct index_user user, user_again;
    size_t n;

    while (index_user_next(ix, after, place, &user, &place) == 0) {
        user_check(&user);
        promise(user.uid > after);
        after = user.uid;
        if (index_user_by_uid(ix, user.uid, &user_again) == 0) {
            user_check(&user_again);
            promise(user_again.uid == user.uid);
        }
        if (index_user_by_name(ix, user.name, &user_again) == 0) {
            user_check(&user_again);
            promise(strcmp(user_again.name, user.name) == 0);
        }
        if (index_groups_of(ix, user.name, gids, &n) == 0) {
            promise(n <= INDEX_GROUPS_MAX);
            for (size_t i = 0; i < n; i++)
                promise(id_is_outer(gids[i]));
        }
    }
    after = place = 0;
    while (index_group_next(ix, after, place, &group, &place) == 0) {
        group_check(&group);
        promise(group.gid > after);
        after = group.gid;
        if (index_group_by_gid(ix, group.gid, &group_again) == 0)
            promise(group_again.gid == group.gid);
        if (index_group_by_name(ix, group.name, &group_again) == 0)
            group_check(&group_again);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct index_user user;
    struct index ix;

    dir_make();
    file_write(data, size);
    if (index_open(dir, &ix) < 0)
        return 0;
    all_list(&ix);
    /* Keys that are there in the seeds, and may be reached through broken tables. */
    if (index_user_by_uid(&ix, 10001, &user) == 0)
        user_check(&user);
    if (index_user_by_name(&ix, "maria", &user) == 0)
        user_check(&user);
    promise(index_user_by_uid(&ix, 0, &user) < 0 && index_user_by_name(&ix, "Root", &user) < 0);
    index_close(&ix);
    return 0;
}

#ifdef FUZZ_REPLAY
static int file_replay(const char *name)
{
    FILE *f = fopen(name, "re");
    unsigned char *data;
    size_t n;

    if (!f)
        return -1;
    data = malloc(INDEX_SIZE_MAX);
    if (!data) {
        (void)fclose(f);
        return -1;
    }
    n = fread(data, 1, INDEX_SIZE_MAX, f);
    (void)fclose(f);
    (void)LLVMFuzzerTestOneInput(data, n);
    free(data);
    return 0;
}

int main(int argc, char *argv[])
{
    for (int i = 1; i < argc; i++) {
        if (file_replay(argv[i]) < 0) {
            (void)fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
    }
    (void)printf("%d inputs replayed\n", argc - 1);
    return 0;
}
#endif
