/* SPDX-License-Identifier: ISC */
/* record.c - what setup changed, so that --undo can bring back exactly what was there. */
#include "ctl/setup/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/say.h"

#include "common/banned.h"

#define RECORD_VERSION 1

static const char *const kinds[] = {"file", "dir", "unit", "made", "mark"};

static char *record_path(const struct record *r, const char *name)
{
    char *path;

    if (asprintf(&path, "%s/%s", r->directory, name) < 0)
        say_no_memory();
    return path;
}

static json_t *entries(const struct record *r)
{
    return json_object_get(r->journal, "entries");
}

static json_t *json_made(json_t *json)
{
    if (!json)
        say_no_memory();
    return json;
}

/* The directory and what is above it may be written to by root alone. */
static int directory_check(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH))
               ? 0
               : -EPERM;
}

static int directory_make(struct record *r)
{
    cleanup_free char *parent = file_directory(r->directory);
    int e;

    if (mkdir(parent, 0755) < 0 && errno != EEXIST)
        return -errno;
    e = directory_check(parent);
    if (e < 0)
        return e;
    if (mkdir(r->directory, 0700) < 0 && errno != EEXIST)
        return -errno;
    e = directory_check(r->directory);
    if (e < 0)
        return e;
    r->lock = open(r->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r->lock < 0)
        return -errno;
    if (flock(r->lock, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    return file_sync_directory(r->directory);
}

/* Each entry has what record_get() relies on. */
static bool journal_is_sane(json_t *journal)
{
    json_t *list = json_object_get(journal, "entries"), *entry;
    size_t i;

    if (json_integer_value(json_object_get(journal, "version")) != RECORD_VERSION ||
        !json_is_array(list) || !json_is_integer(json_object_get(journal, "next")))
        return false;
    json_array_foreach(list, i, entry)
    {
        if (!json_is_string(json_object_get(entry, "step")) ||
            !json_is_string(json_object_get(entry, "path")) ||
            !json_is_string(json_object_get(entry, "kind")))
            return false;
    }
    return true;
}

static int journal_read(struct record *r)
{
    cleanup_free char *path = record_path(r, "journal.json");
    cleanup_file struct file f = {0};
    json_error_t error;
    int e = file_read(path, &f);

    if (e < 0)
        return e == -ENOTDIR ? -EPERM : e;
    if (!f.text.bytes) {
        r->journal = json_made(
            json_pack("{s:i, s:i, s:[]}", "version", RECORD_VERSION, "next", 1, "entries"));
        return 0;
    }
    r->journal = json_loadb(f.text.bytes, f.text.size, JSON_REJECT_DUPLICATES, &error);
    return r->journal && journal_is_sane(r->journal) ? 0 : -EBADMSG;
}

int record_open(const char *directory, bool is_writer, struct record *ret)
{
    struct record r = {.directory = strdup(directory), .lock = -1};
    int e;

    if (!r.directory)
        say_no_memory();
    e = is_writer ? directory_make(&r) : directory_check(directory);
    if (e == -ENOENT)
        e = 0;
    if (e == 0)
        e = journal_read(&r);
    if (e < 0) {
        record_close(&r);
        return e;
    }
    *ret = r;
    return 0;
}

void record_close(struct record *r)
{
    free(r->directory);
    json_decref(r->journal);
    if (r->directory && r->lock >= 0)
        (void)close(r->lock);
    *r = (struct record){.lock = -1};
}

bool record_is_empty(const struct record *r)
{
    return json_array_size(entries(r)) == 0;
}

/* --- copies -------------------------------------------------------------------------------- */

static int copy_write(const struct record *r, json_int_t n, const char *kind,
                      const struct text *text, json_t *entry)
{
    cleanup_free char *name = NULL;
    cleanup_free char *path = NULL;
    struct file f = {.text = *text, .mode = 0600, .uid = geteuid(), .gid = getegid()};

    if (!text->bytes)
        return 0;
    if (asprintf(&name, "%" JSON_INTEGER_FORMAT ".%s", n, kind) < 0)
        say_no_memory();
    path = record_path(r, name);
    if (json_object_set_new(entry, kind, json_made(json_string(name))) < 0)
        say_no_memory();
    return file_write(path, &f);
}

static int copy_read(const struct record *r, const json_t *entry, const char *kind,
                     struct text *ret)
{
    const char *name = json_string_value(json_object_get(entry, kind));
    cleanup_file struct file f = {0};
    cleanup_free char *path = NULL;
    int e;

    *ret = (struct text){0};
    if (!name)
        return 0;
    if (strchr(name, '/'))
        return -EBADMSG;
    path = record_path(r, name);
    e = file_read(path, &f);
    if (e < 0)
        return e;
    if (!f.text.bytes)
        return -EBADMSG;
    *ret = text_take(&f.text);
    return 0;
}

static bool is_wanted(const struct record *r, const char *name)
{
    json_t *entry;
    size_t i;

    json_array_foreach(entries(r), i, entry)
    {
        const char *before = json_string_value(json_object_get(entry, "before"));
        const char *after = json_string_value(json_object_get(entry, "after"));

        if ((before && strcmp(before, name) == 0) || (after && strcmp(after, name) == 0))
            return true;
    }
    return false;
}

/* Copies that no entry names: of an entry that went, or of a crash before the journal. */
static void copies_sweep(const struct record *r)
{
    DIR *dir = opendir(r->directory);
    struct dirent *d;

    while (dir && (d = readdir(dir))) {
        if (d->d_name[0] != '.' && strcmp(d->d_name, "journal.json") != 0 &&
            !is_wanted(r, d->d_name))
            (void)unlinkat(dirfd(dir), d->d_name, 0);
    }
    if (dir)
        (void)closedir(dir);
}

static int journal_write(const struct record *r)
{
    cleanup_free char *path = record_path(r, "journal.json");
    struct file f = {.mode = 0600, .uid = geteuid(), .gid = getegid()};
    int e;

    f.text.bytes = json_dumps(r->journal, JSON_INDENT(1) | JSON_SORT_KEYS);
    if (!f.text.bytes)
        say_no_memory();
    f.text.size = strlen(f.text.bytes);
    e = file_write(path, &f);
    file_done(&f);
    if (e == 0)
        copies_sweep(r);
    return e;
}

/* --- entries ------------------------------------------------------------------------------- */

static bool entry_is(const json_t *entry, enum entry_kind kind, const char *path)
{
    return strcmp(json_string_value(json_object_get(entry, "kind")), kinds[kind]) == 0 &&
           strcmp(json_string_value(json_object_get(entry, "path")), path) == 0;
}

static json_t *entry_find(const struct record *r, enum entry_kind kind, const char *path,
                          size_t *ret_index)
{
    json_t *entry;
    size_t i;

    json_array_foreach(entries(r), i, entry)
    {
        if (entry_is(entry, kind, path)) {
            *ret_index = i;
            return entry;
        }
    }
    return NULL;
}

static json_int_t number_of(const json_t *entry, const char *key)
{
    return json_integer_value(json_object_get(entry, key));
}

static int entry_read(const struct record *r, const json_t *json, struct entry *ret)
{
    cleanup_entry struct entry e = {.step = json_string_value(json_object_get(json, "step")),
                                    .path = json_string_value(json_object_get(json, "path"))};
    const char *kind = json_string_value(json_object_get(json, "kind"));
    int error;

    while (strcmp(kinds[e.kind], kind) != 0) {
        if (e.kind == ENTRY_MARK)
            return -EBADMSG;
        e.kind++;
    }
    e.before.mode = (mode_t)number_of(json, "mode");
    e.before.uid = (uid_t)number_of(json, "uid");
    e.before.gid = (gid_t)number_of(json, "gid");
    e.before.mtime.tv_sec = number_of(json, "mtime_s");
    e.before.mtime.tv_nsec = number_of(json, "mtime_ns");
    error = copy_read(r, json, "before", &e.before.text);
    if (error == 0)
        error = copy_read(r, json, "after", &e.after);
    if (error < 0)
        return error;
    *ret = e;
    e = (struct entry){0};
    return 0;
}

void entry_done(struct entry *e)
{
    file_done(&e->before);
    text_done(&e->after);
}

bool record_has(const struct record *r, enum entry_kind kind, const char *path)
{
    size_t i;

    return entry_find(r, kind, path, &i) != NULL;
}

int record_get(const struct record *r, enum entry_kind kind, const char *path, struct entry *ret)
{
    size_t i;
    json_t *json = entry_find(r, kind, path, &i);

    return json ? entry_read(r, json, ret) : -ENOENT;
}

int record_at(const struct record *r, const char *step, size_t n, struct entry *ret)
{
    json_t *json;
    size_t i;

    json_array_foreach(entries(r), i, json)
    {
        if ((!step || strcmp(json_string_value(json_object_get(json, "step")), step) == 0) &&
            n-- == 0)
            return entry_read(r, json, ret);
    }
    return -ENOENT;
}

int record_put_file(struct record *r, const char *step, const char *path, const struct file *before,
                    const struct text *after)
{
    json_int_t n = number_of(r->journal, "next");
    json_t *old;
    json_t *entry;
    size_t i;
    int e;

    entry = json_made(
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "kind", kinds[ENTRY_FILE], "step",
                  step, "path", path, "mode", (json_int_t)before->mode, "uid",
                  (json_int_t)before->uid, "gid", (json_int_t)before->gid, "mtime_s",
                  (json_int_t)before->mtime.tv_sec, "mtime_ns", (json_int_t)before->mtime.tv_nsec));
    e = copy_write(r, n, "before", &before->text, entry);
    if (e == 0)
        e = copy_write(r, n, "after", after, entry);
    if (e < 0) {
        json_decref(entry);
        return e;
    }
    old = entry_find(r, ENTRY_FILE, path, &i);
    if (json_object_set_new(r->journal, "next", json_made(json_integer(n + 1))) < 0 ||
        (old ? json_array_set_new(entries(r), i, entry)
             : json_array_append_new(entries(r), entry)) < 0)
        say_no_memory();
    return journal_write(r);
}

int record_put(struct record *r, enum entry_kind kind, const char *step, const char *path)
{
    if (record_has(r, kind, path))
        return 0;
    if (json_array_append_new(entries(r),
                              json_made(json_pack("{s:s, s:s, s:s}", "kind", kinds[kind], "step",
                                                  step, "path", path))) < 0)
        say_no_memory();
    return journal_write(r);
}

int record_drop(struct record *r, enum entry_kind kind, const char *path)
{
    size_t i;

    if (!entry_find(r, kind, path, &i))
        return 0;
    if (json_array_remove(entries(r), i) < 0)
        return -EBADMSG;
    return journal_write(r);
}

int record_remove(struct record *r)
{
    cleanup_free char *parent = file_directory(r->directory);
    cleanup_free char *path = record_path(r, "journal.json");
    int e;

    if (!record_is_empty(r))
        return -ENOTEMPTY;
    copies_sweep(r);
    e = file_remove(path);
    if (e < 0)
        return e;
    file_sweep(path);
    if (rmdir(r->directory) < 0)
        return -errno;
    e = file_sync_directory(r->directory);
    /* If there is nothing else in it, it was made for this. */
    (void)rmdir(parent);
    return e;
}
