/* SPDX-License-Identifier: ISC */
/*
 * fuzz_index.c - the index reader on files that anybody may have written.
 *
 * With libFuzzer (out of tree, after ./configure; some minutes are enough to see every branch):
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -include config.h -I SOURCE -o fuzz_index \
 *       SOURCE/tests/fuzz/fuzz_index.c SOURCE/common/index_read.c SOURCE/common/str.c
 *   SOURCE/tests/fuzz/corpus unpack SOURCE/tests/fuzz/index.corpus SEEDS
 *   ./fuzz_index -max_len=1024 -max_total_time=300 FOUND SEEDS
 * What it finds goes into the corpus, a line of hexadecimal digits each:
 *   ./fuzz_index -merge=1 SMALL FOUND SEEDS && SOURCE/tests/fuzz/corpus pack SMALL >index.corpus
 *
 * With -DFUZZ_REPLAY and any compiler it is a program that replays a corpus, and each of its inputs
 * changed here and there. `make check` runs it.
 *
 * Size and magic keep a fuzzer out as a checksum would. So the header is made to fit the file,
 * unless its last byte, which nobody reads, is set. What is looked for besides crashes: an answer
 * that breaks the promise of common/index_read.h, or two that contradict each other; that aborts.
 */
#include "common/index_read.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
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

/* The gids are what is behind the other parts. */
static void header_mend(struct index_header *head, size_t size)
{
    size_t parts = sizeof(*head) + (size_t)le32toh(head->entry_count) * sizeof(struct index_entry) +
                   (size_t)le32toh(head->slot_count) * sizeof(uint32_t);

    memcpy(head->magic, INDEX_MAGIC, sizeof(head->magic));
    head->version = htole32(INDEX_VERSION);
    head->size_bytes = htole32((uint32_t)size);
    if (parts < size)
        head->gid_count = htole32((uint32_t)((size - parts) / sizeof(uint32_t)));
}

static void file_write(const unsigned char *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    struct index_header head;

    promise(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    if (size >= sizeof(head)) {
        memcpy(&head, data, sizeof(head));
        if (head.zero[sizeof(head.zero) - 1] == 0) {
            header_mend(&head, size);
            promise(pwrite(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head));
        }
    }
    (void)close(fd);
}

static void groups_check(const struct index *ix, const char *name)
{
    uint32_t gids[INDEX_GROUPS_MAX];
    size_t n;

    if (index_groups_of(ix, name, gids, &n) < 0)
        return;
    promise(n <= INDEX_GROUPS_MAX);
    for (size_t i = 0; i < n; i++)
        promise(id_is_allocatable(gids[i]));
}

/* What is said of one user, by every way to it. */
static void user_check(const struct index *ix, const struct index_user *user)
{
    struct index_group group;
    struct index_user again;

    promise(id_is_allocatable(user->uid) && user->gid == user->uid);
    promise(name_is_valid_n(user->name, sizeof(user->name)));
    promise(index_user_by_uid(ix, user->uid, &again) == 0);
    promise(memcmp(&again, user, sizeof(again)) == 0);
    promise(index_group_by_gid(ix, user->gid, &group) == 0 && strcmp(group.name, user->name) == 0);
    /* Two entries may bear a name; the table has one of them, or none. */
    if (index_user_by_name(ix, user->name, &again) == 0)
        promise(strcmp(again.name, user->name) == 0 && id_is_allocatable(again.uid));
    groups_check(ix, user->name);
}

static void group_check(const struct index *ix, const struct index_group *group)
{
    struct index_group again;

    promise(id_is_allocatable(group->gid));
    promise(name_is_valid_n(group->name, sizeof(group->name)));
    promise(index_group_by_gid(ix, group->gid, &again) == 0);
    promise(memcmp(&again, group, sizeof(again)) == 0);
    if (index_group_by_name(ix, group->name, &again) == 0)
        promise(strcmp(again.name, group->name) == 0 && id_is_allocatable(again.gid));
}

static void all_list(const struct index *ix)
{
    struct index_group group;
    struct index_user user;
    uint32_t after = 0;

    while (index_user_next(ix, after, &user) == 0) {
        promise(user.uid > after);
        user_check(ix, &user);
        after = user.uid;
    }
    after = 0;
    while (index_group_next(ix, after, &group) == 0) {
        promise(group.gid > after);
        group_check(ix, &group);
        after = group.gid;
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    /* Of the seeds; they may be reached through a broken table. */
    static const char *const names[] = {"maria", "jo", "course", "nobody-here"};
    struct index_group group;
    struct index_user user;
    struct index ix;

    dir_make();
    file_write(data, size);
    if (index_open(dir, &ix) < 0)
        return 0;
    all_list(&ix);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (index_user_by_name(&ix, names[i], &user) == 0)
            user_check(&ix, &user);
        if (index_group_by_name(&ix, names[i], &group) == 0)
            group_check(&ix, &group);
        groups_check(&ix, names[i]);
    }
    promise(index_user_by_uid(&ix, 0, &user) == -ENOENT);
    promise(index_group_by_gid(&ix, ID_ALLOC_MAX + 1, &group) == -ENOENT);
    promise(index_user_by_name(&ix, "Root", &user) == -ENOENT);
    index_close(&ix);
    return 0;
}

#ifdef FUZZ_REPLAY
#define INPUT_MAX 4096u
#define MUTATIONS 60u

/* xorshift32: the same changes on every machine. */
static uint32_t noise(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Some bytes, a word of the header, or the length. */
static void input_change(const unsigned char *input, size_t size, uint32_t *seed)
{
    static const uint32_t words[] = {0, 1, 2, 16, 32, 49900, 59899, 0x80000000u, ~0u};
    unsigned char changed[INPUT_MAX];
    uint32_t word = htole32(words[noise(seed) % (sizeof(words) / sizeof(words[0]))]);

    memcpy(changed, input, size);
    for (uint32_t n = 1 + noise(seed) % 4; n > 0; n--) {
        uint32_t at = noise(seed);

        switch (noise(seed) % 4) {
        case 0:
            size -= size > 0 ? at % size / 8 : 0;
            break;
        case 1:
            if (size >= sizeof(struct index_header))
                memcpy(changed + at % 16 * 4, &word, sizeof(word));
            break;
        case 2:
            if (size >= sizeof(word))
                memcpy(changed + at % (size / 4) * 4, &word, sizeof(word));
            break;
        default:
            if (size > 0)
                changed[at % size] = (unsigned char)noise(seed);
            break;
        }
    }
    (void)LLVMFuzzerTestOneInput(changed, size);
}

static int digit_value(int c)
{
    return isdigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A line into bytes. Return: their number, or -1 for a line that is none. */
static long line_read(const char *line, unsigned char input[INPUT_MAX])
{
    size_t n = strcspn(line, "\n");

    if (n % 2 != 0 || n / 2 > INPUT_MAX)
        return -1;
    for (size_t i = 0; i < n; i += 2) {
        int high = digit_value(line[i]), low = digit_value(line[i + 1]);

        if (high < 0 || low < 0)
            return -1;
        input[i / 2] = (unsigned char)(high << 4 | low);
    }
    return (long)(n / 2);
}

int main(int argc, char *argv[])
{
    const char *corpus = argc > 1 ? argv[1] : FUZZ_CORPUS;
    FILE *f = fopen(corpus, "re");
    unsigned lines = 0, inputs = 0;
    uint32_t seed = 0x41544c46;
    char *line = NULL;
    size_t room = 0;

    if (!f) {
        (void)fprintf(stderr, "%s: %s\n", corpus, strerror(errno));
        return 1;
    }
    while (getline(&line, &room, f) >= 0) {
        unsigned char input[INPUT_MAX];
        long n;

        lines++;
        if (line[0] == '#')
            continue;
        n = line_read(line, input);
        if (n < 0) {
            (void)fprintf(stderr, "%s:%u: not a line of hexadecimal digits\n", corpus, lines);
            return 1;
        }
        (void)LLVMFuzzerTestOneInput(input, (size_t)n);
        for (unsigned i = 0; i < MUTATIONS; i++)
            input_change(input, (size_t)n, &seed);
        inputs++;
    }
    free(line);
    (void)fclose(f);
    (void)printf("%u inputs replayed, each with %u changes\n", inputs, MUTATIONS);
    return inputs == 0;
}
#endif
