/* SPDX-License-Identifier: ISC */
/*
 * edit.c - files of the host's own that we edit, and bring back.
 *
 * The record has two texts of each: "before" is what the file would be without us, "after" what we
 * wrote. While the file is still "after", undoing puts "before" in its place, byte for byte. If
 * somebody changed it since, only what is ours goes. When setup has to mend a file that others
 * changed, "before" becomes their text without ours: nobody's later work is lost by an undo.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/say.h"
#include "ctl/setup/diff.h"
#include "ctl/setup/step.h"
#include "ctl/setup/whole.h"

#include "common/banned.h"

#define DIFF_INDENT "      "

/* --- files that are all ours --------------------------------------------------------------- */

static int shipped_make(struct setup *s, const struct edit *edit, const struct text *now,
                        struct text *ret_new, struct complaint *ret_why)
{
    cleanup_text struct text shipped = {0};
    cleanup_entry struct entry e = {0};

    if (shipped_read(edit->shipped, &shipped) < 0) {
        (void)snprintf(ret_why->what, sizeof(ret_why->what), "what goes there is missing");
        return -EINVAL;
    }
    if (now->bytes && whole_is_there(now, &shipped)) {
        *ret_new = text_of(now->bytes, now->size);
        return 0;
    }
    if (now->bytes &&
        !(record_get(&s->record, ENTRY_FILE, edit->path, &e) == 0 && text_is_same(now, &e.after))) {
        (void)snprintf(ret_why->what, sizeof(ret_why->what),
                       "is there, and does not say what ours says (%s); move it away",
                       edit->shipped);
        return -EINVAL;
    }
    *ret_new = text_take(&shipped);
    return 0;
}

static void edit_take_out(const struct edit *edit, const struct text *now,
                          const struct entry *entry, struct text *ret_text, const char **ret_left)
{
    if (!edit->shipped) {
        edit->take_out(now, entry, ret_text, ret_left);
        return;
    }
    *ret_left = NULL;
    whole_unedit(now, &entry->after, ret_text);
}

/* --- any file ------------------------------------------------------------------------------ */

/* Read the file and make it as it should be. Return: as edit->make(), or an errno of reading. */
static int edit_make(struct setup *s, const struct edit *edit, struct file *ret_now,
                     struct text *ret_new, struct complaint *ret_why)
{
    cleanup_file struct file now = {0};
    int r = file_read(edit->path, &now);

    *ret_why = (struct complaint){0};
    if (r < 0)
        return r;
    r = edit->shipped ? shipped_make(s, edit, &now.text, ret_new, ret_why)
                      : edit->make(s, &now.text, ret_new, ret_why);
    if (r < 0)
        return r;
    *ret_now = now;
    now = (struct file){0};
    return 0;
}

void edit_plan(struct setup *s, const struct edit *edit)
{
    cleanup_file struct file now = {0};
    cleanup_text struct text new = {0};
    const char *obstacle;
    struct complaint why;
    int r = edit_make(s, edit, &now, &new, &why);

    if (r == -ENOENT)
        return;
    if (r == -EINVAL && why.what[0]) {
        if (why.line)
            refuse(s, "%s:%zu: %s", edit->path, why.line, why.what);
        else
            refuse(s, "%s: %s", edit->path, why.what);
        return;
    }
    obstacle = file_obstacle(edit->path);
    if (r < 0) {
        refuse(s, "%s %s", edit->path, obstacle ? obstacle : strerror(-r));
        return;
    }
    if (text_is_same(&now.text, &new))
        return;
    if (obstacle) {
        refuse(s, "%s %s", edit->path, obstacle);
        return;
    }
    plan_say(s, "%s: %s", edit->path, edit->why);
    diff_print(s->out, DIFF_INDENT, edit->path, &now.text, &new);
}

bool edit_is_done(struct setup *s, const struct edit *edit)
{
    cleanup_file struct file now = {0};
    cleanup_text struct text new = {0};
    struct complaint why;
    int r = edit_make(s, edit, &now, &new, &why);

    return r == -ENOENT || (r == 0 && text_is_same(&now.text, &new));
}

/**
 * base_find() - What the file would be without us
 * @now:      As it is
 * @ret_base: Owned by the caller
 */
static int base_find(struct setup *s, const struct edit *edit, const struct file *now,
                     struct file *ret_base)
{
    cleanup_entry struct entry e = {0};
    const char *left;
    int r = record_get(&s->record, ENTRY_FILE, edit->path, &e);

    *ret_base = *now;
    ret_base->text = (struct text){0};
    if (r == -ENOENT) {
        if (now->text.bytes)
            ret_base->text = text_of(now->text.bytes, now->text.size);
        return 0;
    }
    if (r < 0)
        return r;
    if (text_is_same(&now->text, &e.after)) {
        *ret_base = e.before;
        e.before = (struct file){0};
    } else if (now->text.bytes) {
        edit_take_out(edit, &now->text, &e, &ret_base->text, &left);
    }
    return 0;
}

/* The directory of a new drop-in. */
static int directory_provide(struct setup *s, const struct edit *edit)
{
    cleanup_free char *directory = file_directory(edit->path);
    int r;

    if (access(directory, F_OK) == 0)
        return 0;
    r = record_put(&s->record, ENTRY_DIR, edit->step, directory);
    if (r == 0 && mkdir(directory, 0755) < 0)
        r = -errno;
    if (r == 0)
        r = file_sync_directory(directory);
    return r < 0 ? step_fail("cannot make %s: %s", directory, strerror(-r)) : 0;
}

/* Recording takes its time; nobody else's edit in between may be lost. */
static bool is_unchanged(const char *path, const struct text *text)
{
    cleanup_file struct file now = {0};

    return file_read(path, &now) == 0 && text_is_same(&now.text, text);
}

int edit_apply(struct setup *s, const struct edit *edit)
{
    cleanup_file struct file now = {0};
    cleanup_file struct file base = {0};
    cleanup_file struct file target = {0};
    struct complaint why;
    int r = edit_make(s, edit, &now, &target.text, &why);

    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return step_fail("%s was changed meanwhile: %s", edit->path,
                         why.what[0] ? why.what : strerror(-r));
    if (text_is_same(&now.text, &target.text))
        return 0;
    if (directory_provide(s, edit) < 0)
        return -1;
    file_sweep(edit->path);
    target.mode = now.text.bytes ? now.mode : edit->mode;
    target.uid = now.uid;
    target.gid = now.gid;
    r = base_find(s, edit, &now, &base);
    if (r == 0)
        r = record_put_file(&s->record, edit->step, edit->path, &base, &target.text);
    if (r < 0)
        return step_fail("cannot record %s in " SETUP_DIR ": %s", edit->path, strerror(-r));
    if (!is_unchanged(edit->path, &now.text))
        return step_fail("%s was changed by somebody else just now", edit->path);
    r = file_write(edit->path, &target);
    return r < 0 ? step_fail("cannot write %s: %s", edit->path, strerror(-r)) : 0;
}

/**
 * edit_reverse() - The file as it should be after undoing
 * @ret: Text without bytes: remove it
 *
 * Return: whether the file has to be changed.
 */
static bool edit_reverse(struct setup *s, const struct edit *edit, const struct file *now,
                         const struct entry *e, struct file *ret)
{
    const char *left = NULL;

    *ret = *now;
    ret->text = (struct text){0};
    ret->mtime = (struct timespec){0};
    if (text_is_same(&now->text, &e->before.text))
        return false;
    if (!now->text.bytes) {
        note_say(s, "%s was removed since, and is not brought back", edit->path);
        return false;
    }
    if (text_is_same(&now->text, &e->after)) {
        if (e->before.text.bytes)
            ret->text = text_of(e->before.text.bytes, e->before.text.size);
        ret->mtime = e->before.mtime;
        return true;
    }
    edit_take_out(edit, &now->text, e, &ret->text, &left);
    if (left)
        note_say(s, "%s: %s was changed since, and stays as it is", edit->path, left);
    if (text_is_same(&now->text, &ret->text)) {
        if (!left)
            note_say(s, "%s was changed since, and has nothing of ours in it any more", edit->path);
        return false;
    }
    note_say(s, "%s was changed since; only what is ours was taken out", edit->path);
    return true;
}

int edit_undo(struct setup *s, const struct edit *edit)
{
    cleanup_entry struct entry e = {0};
    cleanup_file struct file now = {0};
    cleanup_file struct file target = {0};
    int r = record_get(&s->record, ENTRY_FILE, edit->path, &e);

    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return step_fail("the record of %s in " SETUP_DIR " cannot be read: %s", edit->path,
                         strerror(-r));
    file_sweep(edit->path);
    r = file_read(edit->path, &now);
    if (r < 0)
        return step_fail("%s cannot be read, and stays as it is: %s", edit->path, strerror(-r));
    if (edit_reverse(s, edit, &now, &e, &target)) {
        r = target.text.bytes ? file_write(edit->path, &target) : file_remove(edit->path);
        if (r < 0)
            return step_fail("cannot bring %s back: %s", edit->path, strerror(-r));
    }
    r = record_drop(&s->record, ENTRY_FILE, edit->path);
    return r < 0 ? step_fail("cannot write " SETUP_DIR ": %s", strerror(-r)) : 0;
}

int shipped_read(const char *path, struct text *ret)
{
    cleanup_file struct file f = {0};
    int r = file_read(path, &f);

    if (r == 0 && !f.text.bytes)
        r = -ENOENT;
    if (r < 0)
        return step_fail("%s: %s; install atelier again", path, strerror(-r));
    *ret = text_take(&f.text);
    return 0;
}

/* --- files that programs change for us ----------------------------------------------------- */

int tracked_before(struct setup *s, const char *step, const char *const *paths)
{
    static const struct text unknown = {0};

    for (; *paths; paths++) {
        cleanup_file struct file now = {0};
        int r;

        if (record_has(&s->record, ENTRY_FILE, *paths))
            continue;
        r = file_read(*paths, &now);
        if (r == 0)
            r = record_put_file(&s->record, step, *paths, &now, &unknown);
        if (r < 0)
            return step_fail("cannot record %s: %s", *paths, strerror(-r));
    }
    return 0;
}

int tracked_after(struct setup *s, const char *step, const char *const *paths)
{
    for (; *paths; paths++) {
        cleanup_file struct file now = {0};
        cleanup_entry struct entry e = {0};
        int r = record_get(&s->record, ENTRY_FILE, *paths, &e);

        if (r == -ENOENT)
            continue;
        if (r == 0)
            r = file_read(*paths, &now);
        if (r == 0 && !text_is_same(&now.text, &e.after))
            r = record_put_file(&s->record, step, *paths, &e.before, &now.text);
        if (r < 0)
            return step_fail("cannot record %s: %s", *paths, strerror(-r));
    }
    return 0;
}

bool tracked_are_ours(struct setup *s, const char *const *paths)
{
    for (; *paths; paths++) {
        cleanup_file struct file now = {0};
        cleanup_entry struct entry e = {0};

        if (record_get(&s->record, ENTRY_FILE, *paths, &e) == -ENOENT)
            continue;
        if (file_read(*paths, &now) < 0 || (!text_is_same(&now.text, &e.before.text) &&
                                            !(e.after.bytes && text_is_same(&now.text, &e.after))))
            return false;
    }
    return true;
}

static int tracked_restore_one(struct setup *s, const char *path)
{
    cleanup_file struct file now = {0};
    cleanup_entry struct entry e = {0};
    int r = record_get(&s->record, ENTRY_FILE, path, &e);

    if (r == -ENOENT)
        return 0;
    if (r == 0)
        r = file_read(path, &now);
    if (r == 0 && e.after.bytes && text_is_same(&now.text, &e.after))
        r = e.before.text.bytes ? file_write(path, &e.before) : file_remove(path);
    if (r < 0)
        return step_fail("cannot bring %s back: %s", path, strerror(-r));
    r = record_drop(&s->record, ENTRY_FILE, path);
    return r < 0 ? step_fail("cannot write " SETUP_DIR ": %s", strerror(-r)) : 0;
}

int tracked_restore(struct setup *s, const char *const *paths)
{
    int r = 0;

    for (; *paths; paths++) {
        if (tracked_restore_one(s, *paths) < 0)
            r = -1;
    }
    return r;
}

int directories_undo(struct setup *s, const char *step)
{
    size_t n = 0;
    int r = 0;

    for (;;) {
        cleanup_entry struct entry e = {0};
        cleanup_free char *path = NULL;

        r = record_at(&s->record, step, n, &e);
        if (r == -ENOENT)
            return 0;
        if (r < 0 || e.kind != ENTRY_DIR) {
            n++;
            continue;
        }
        path = strdup(e.path);
        if (!path)
            say_no_memory();
        if (rmdir(path) < 0 && errno != ENOENT)
            note_say(s, "%s stays: %s", path, strerror(errno));
        else
            (void)file_sync_directory(path);
        r = record_drop(&s->record, ENTRY_DIR, path);
        if (r < 0)
            return step_fail("cannot write " SETUP_DIR ": %s", strerror(-r));
    }
}
