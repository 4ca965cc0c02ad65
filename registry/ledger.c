/* SPDX-License-Identifier: ISC */
/*
 * ledger.c - the list of every id and name that was ever given out, outside the database.
 *
 * The tombstones in registry.db forget with it: whoever puts an older copy of that file back, in
 * whatever way, would have the counter and the names of that day. So each id and name also gets a
 * line "ID KIND NAME" in ledger/issued, which no backup holds and no restore replaces. A line is
 * written and fsynced after COMMIT (before, a change that is undone would leave it) and before the
 * index is renamed (after, somebody could have seen an id that only registry.db knows). Whatever
 * fails in between is made up for: at open each of the two gets what only the other one has.
 *
 * A crash can leave the last line half, and a power failure zeros in the place of what was not
 * synced yet. COMMIT came first, so the database has what such lines said: the file is cut there,
 * and what it lacks is written again; whole lines behind zeros count until then. Any other line
 * that is none, or that contradicts the database, was not written by us: then nothing is opened,
 * because guessing would give one id to two people.
 */
#include "registry/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "registry/change.h"
#include "registry/id.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

#define FILE_PATH LEDGER_DIR_NAME "/" LEDGER_FILE_NAME

#define LINE_SIZE  (sizeof("59899 group \n") + NAME_MAX_LEN)
#define BYTES_MAX  (64 * 1024 * 1024) /* twenty times as many as there are ids */
#define ROOM_FIRST 16u

/* --- file ---------------------------------------------------------------------------------- */

static int file_check(struct registry *reg)
{
    struct stat st;

    if (fstat(reg->ledger.fd, &st) < 0)
        return registry_fail(reg, -errno, "look at " FILE_PATH);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
        return registry_fail(reg, -EPERM, FILE_PATH " is not a file of ours alone");
    /* Who could write it could have given out any id in our name. */
    if (st.st_mode & 07177)
        return registry_fail(reg, -EPERM, FILE_PATH " has mode %04o, more than 0600",
                             st.st_mode & 07777);
    return 0;
}

/* All of it, NUL-terminated. */
static int file_read(struct registry *reg, char **ret_text, size_t *ret_size)
{
    char *text = NULL;
    size_t size, got = 0;
    struct stat st;

    if (fstat(reg->ledger.fd, &st) < 0)
        return registry_fail(reg, -errno, "look at " FILE_PATH);
    if (st.st_size > BYTES_MAX)
        return registry_fail(reg, -EFBIG, "read " FILE_PATH);
    size = (size_t)st.st_size;
    text = calloc(1, size + 1);
    if (!text)
        return registry_fail(reg, -ENOMEM, "read " FILE_PATH);
    while (got < size) {
        ssize_t n = pread(reg->ledger.fd, text + got, size - got, (off_t)got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int r = registry_fail(reg, n < 0 ? -errno : -EIO, "read " FILE_PATH);

            free(text);
            return r;
        }
        got += (size_t)n;
    }
    *ret_text = text;
    *ret_size = size;
    return 0;
}

int ledger_open(struct registry *reg)
{
    int r;

    reg->ledger.fd =
        openat(reg->ledger.dir_fd, LEDGER_FILE_NAME,
               O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (reg->ledger.fd < 0)
        return registry_fail(reg, -errno, "open " FILE_PATH);
    r = file_check(reg);
    if (r == 0 && fsync(reg->ledger.dir_fd) < 0)
        r = registry_fail(reg, -errno, "sync directory " LEDGER_DIR_NAME "/");
    return r;
}

void ledger_close(struct registry *reg)
{
    free(reg->ledger.open);
    reg->ledger.open = NULL;
    cleanup_close_p(&reg->ledger.fd);
    cleanup_close_p(&reg->ledger.dir_fd);
}

/* --- lines --------------------------------------------------------------------------------- */

struct lines {
    struct used *v; /* owned */
    size_t n;
    size_t whole, whole_bytes; /* of them and of the file: before the first that a crash spoilt */
    size_t bytes;              /* of the file */
};

static bool kind_parse(const char *text, size_t len, bool *ret_is_group)
{
    *ret_is_group = len == 5 && memcmp(text, "group", 5) == 0;
    return *ret_is_group || (len == 4 && memcmp(text, "user", 4) == 0);
}

bool used_is_valid(const struct used *used)
{
    return id_is_allocatable(used->id) && name_is_valid_n(used->name, sizeof(used->name));
}

/* Exactly what line_format() writes, without the end of line. */
static bool line_parse(const char *line, size_t len, struct used *ret_used)
{
    const char *kind = memchr(line, ' ', len), *name;
    char id[8];

    if (!kind || (size_t)(kind - line) >= sizeof(id))
        return false;
    memcpy(id, line, (size_t)(kind - line));
    id[kind - line] = '\0';
    kind++;
    name = memchr(kind, ' ', len - (size_t)(kind - line));
    if (!name || !kind_parse(kind, (size_t)(name - kind), &ret_used->is_group))
        return false;
    name++;
    len -= (size_t)(name - line);
    if (len >= sizeof(ret_used->name))
        return false;
    memcpy(ret_used->name, name, len);
    return str_to_u32(id, ID_ALLOC_MAX, &ret_used->id) == 0 && used_is_valid(ret_used);
}

static size_t line_format(char line[LINE_SIZE], const struct used *used)
{
    return (size_t)snprintf(line, LINE_SIZE, "%u %s %s\n", used->id,
                            used->is_group ? "group" : "user", used->name);
}

/* Half of the last line was written, or nothing but the size of the file. */
static bool line_is_spoilt(const char *line, const char *end)
{
    return !end || memchr(line, '\0', (size_t)(end - line));
}

static int lines_parse(struct registry *reg, const char *text, struct lines *lines)
{
    const char *p = text, *after = text + lines->bytes;
    bool is_spoilt = false;

    lines->whole_bytes = lines->bytes;
    for (size_t number = 1; p < after; number++) {
        const char *end = memchr(p, '\n', (size_t)(after - p));

        if (line_is_spoilt(p, end)) {
            if (!is_spoilt)
                lines->whole_bytes = (size_t)(p - text);
            is_spoilt = true;
        } else if (line_parse(p, (size_t)(end - p), &lines->v[lines->n])) {
            lines->n++;
            lines->whole += !is_spoilt;
        } else {
            return registry_fail(reg, -EBADMSG, "line %zu of " FILE_PATH, number);
        }
        p = end ? end + 1 : after;
    }
    return 0;
}

/* The shortest line is "10000 user a". */
static int lines_load(struct registry *reg, struct lines *ret_lines)
{
    struct lines lines = {0};
    char *text = NULL;
    int r = file_read(reg, &text, &lines.bytes);

    if (r < 0)
        return r;
    lines.v = calloc(lines.bytes / sizeof("10000 user a") + 1, sizeof(*lines.v));
    r = lines.v ? lines_parse(reg, text, &lines) : registry_fail(reg, -ENOMEM, "read " FILE_PATH);
    free(text);
    if (r < 0)
        free(lines.v);
    else
        *ret_lines = lines;
    return r;
}

/* --- the database gets what only the ledger has ---------------------------------------------- */

static int lines_merge(struct registry *reg, const struct lines *lines)
{
    bool seen[ID_ALLOC_MAX - ID_ALLOC_MIN + 1] = {false};

    for (size_t i = 0; i < lines->n; i++) {
        const struct used *used = &lines->v[i];
        bool *is_seen = &seen[used->id - ID_ALLOC_MIN];
        const char *what = NULL;
        int r = used_merge(reg, used, !*is_seen, &what);

        if (r == -EEXIST)
            return registry_fail(reg, r, "line %zu of " FILE_PATH ": %s in " REGISTRY_FILE_NAME,
                                 i + 1, what);
        if (r < 0)
            return r;
        *is_seen = true;
    }
    return 0;
}

int ledger_merge(struct registry *reg)
{
    struct lines lines = {0};
    int r = lines_load(reg, &lines);

    if (r == 0)
        r = lines_merge(reg, &lines);
    free(lines.v);
    return r;
}

static int merge_store(struct registry *reg, const struct lines *lines)
{
    int r = change_begin(reg);

    if (r < 0)
        return r;
    r = lines_merge(reg, lines);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return change_commit(reg);
}

/* --- the ledger gets what only the database has ---------------------------------------------- */

/* Synced also if there is nothing to write: what is there may be of a process that was killed. */
static int text_append(struct registry *reg, const char *text, size_t size)
{
    struct stat st;
    size_t done = 0;
    int r = 0;

    if (fstat(reg->ledger.fd, &st) < 0)
        return registry_fail(reg, -errno, "stored, but cannot look at " FILE_PATH);
    while (r == 0 && done < size) {
        ssize_t n = write(reg->ledger.fd, text + done, size - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            r = -errno;
    }
    if (r == 0 && fsync(reg->ledger.fd) < 0)
        r = -errno;
    if (r == 0)
        return 0;
    /* The file is as it was, or ledger_agree() cuts what was written in part. */
    if (ftruncate(reg->ledger.fd, st.st_size) < 0 && r == 0)
        r = -errno;
    return registry_fail(reg, r, "stored, but cannot write " FILE_PATH);
}

static int lines_append(struct registry *reg, const struct used *used, size_t n)
{
    char *text = calloc(n + 1, LINE_SIZE);
    size_t size = 0;
    int r;

    if (!text)
        return registry_fail(reg, -ENOMEM, "stored, but cannot write " FILE_PATH);
    for (size_t i = 0; i < n; i++)
        size += line_format(text + size, &used[i]);
    r = text_append(reg, text, size);
    free(text);
    return r;
}

static int used_compare(const void *a, const void *b)
{
    const struct used *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return strcmp(x->name, y->name);
}

struct missing {
    struct registry *reg;
    const struct lines *lines; /* sorted */
};

static int missing_note(void *arg, const struct used *used)
{
    struct missing *m = arg;

    if (bsearch(used, m->lines->v, m->lines->n, sizeof(*used), used_compare))
        return 0;
    return ledger_note(m->reg, used);
}

/* Only when all that it has is in the database, for good. */
static int spoilt_cut(struct registry *reg, struct lines *lines)
{
    if (lines->whole_bytes == lines->bytes)
        return 0;
    if (ftruncate(reg->ledger.fd, (off_t)lines->whole_bytes) < 0 || fsync(reg->ledger.fd) < 0)
        return registry_fail(reg, -errno, "cut what a crash spoilt of " FILE_PATH);
    lines->n = lines->whole;
    return 0;
}

static int missing_append(struct registry *reg, struct lines *lines)
{
    struct missing missing = {.reg = reg, .lines = lines};
    int r;

    qsort(lines->v, lines->n, sizeof(*lines->v), used_compare);
    ledger_forget(reg);
    r = used_list(reg, missing_note, &missing);
    if (r == 0)
        r = lines_append(reg, reg->ledger.open, reg->ledger.open_count);
    ledger_forget(reg);
    return r;
}

int ledger_agree(struct registry *reg)
{
    struct lines lines = {0};
    int r = lines_load(reg, &lines);

    if (r == 0)
        r = merge_store(reg, &lines);
    if (r == 0)
        r = spoilt_cut(reg, &lines);
    if (r == 0)
        r = missing_append(reg, &lines);
    free(lines.v);
    reg->ledger.is_behind = r < 0;
    return r;
}

/* --- a change ------------------------------------------------------------------------------ */

int ledger_note(struct registry *reg, const struct used *used)
{
    struct ledger *l = &reg->ledger;

    /* A line that we refuse to read must not be written: nothing would ever open again. */
    if (!used_is_valid(used))
        return registry_fail(reg, -EBADMSG, "note id %u as used, under a name that is none",
                             used->id);
    if (l->open_count == l->open_room) {
        size_t room = l->open_room > 0 ? 2 * l->open_room : ROOM_FIRST;
        struct used *bigger = reallocarray(l->open, room, sizeof(*bigger));

        if (!bigger)
            return registry_fail(reg, -ENOMEM, "note a used id");
        l->open = bigger;
        l->open_room = room;
    }
    l->open[l->open_count++] = *used;
    return 0;
}

void ledger_forget(struct registry *reg)
{
    reg->ledger.open_count = 0;
}

int ledger_append(struct registry *reg)
{
    int r;

    if (reg->ledger.is_behind)
        return ledger_agree(reg);
    if (reg->ledger.open_count == 0)
        return 0;
    r = lines_append(reg, reg->ledger.open, reg->ledger.open_count);
    reg->ledger.is_behind = r < 0;
    ledger_forget(reg);
    return r;
}
