/* SPDX-License-Identifier: ISC */
/*
 * record.h - what setup changed, so that --undo can bring back exactly what was there.
 *
 * A directory of root's: journal.json, and for each file that is touched a copy of what was there
 * (N.before) and of what we wrote (N.after). The order of every change is
 *
 *   1. copies written and synced, under numbers that the journal does not know yet
 *   2. the journal, written beside the old one, synced, renamed over it, directory synced
 *   3. the change itself
 *
 * so whatever is found after a crash, the journal names every file that may be changed, and its
 * copies are whole. An entry without its change is harmless: undoing finds the old bytes and is
 * done. Taking back goes the other way: first the file, then the entry.
 */
#ifndef ATELIER_CTL_SETUP_RECORD_H
#define ATELIER_CTL_SETUP_RECORD_H

#include <jansson.h>
#include <stdbool.h>

#include "ctl/setup/file.h"

enum entry_kind {
    ENTRY_FILE, /* a file that we or a program for us changed */
    ENTRY_DIR,  /* a directory that we made */
    ENTRY_UNIT, /* a unit that we enabled */
    ENTRY_MADE, /* a file that a service makes, and that was not there before */
    ENTRY_MARK, /* something else that a step has to remember */
};

struct record {
    char *directory; /* owned */
    json_t *journal;
    int lock; /* descriptor of the directory with a lock on it, or -1 */
};

struct entry {
    enum entry_kind kind;
    const char *step, *path; /* borrowed from the journal */
    struct file before;      /* ENTRY_FILE; owned, entry_done() */
    struct text after;       /* without bytes: not known, or removed */
};

void entry_done(struct entry *e);
#define cleanup_entry __attribute__((cleanup(entry_done)))

/**
 * record_open() - Read the record
 * @directory: Borrowed; need not exist if @is_writer is not set
 * @is_writer: Make the directory, and lock it against a second setup
 * @ret:       record_close()
 *
 * Return: 0, -EBUSY if another setup runs, -EBADMSG for a journal that cannot be read, -EPERM for a
 * directory that is not root's alone, or another errno.
 */
int record_open(const char *directory, bool is_writer, struct record *ret);
void record_close(struct record *r);
#define cleanup_record __attribute__((cleanup(record_close)))

bool record_is_empty(const struct record *r);

/* Whether there is an entry of this kind for the path. */
bool record_has(const struct record *r, enum entry_kind kind, const char *path);

/**
 * record_get() - Look an entry up
 * @ret: entry_done()
 *
 * Return: 0, -ENOENT, or what reading its copies failed with.
 */
int record_get(const struct record *r, enum entry_kind kind, const char *path, struct entry *ret);

/* The nth entry of a step, from 0; NULL step: of all. Return: 0, -ENOENT, or as record_get(). */
int record_at(const struct record *r, const char *step, size_t n, struct entry *ret);

/**
 * record_put_file() - Remember a file, durably, before it is changed
 * @step:   Name of the step
 * @before: What is there
 * @after:  What will be; without bytes if a program decides that
 *
 * Replaces an entry for the same path. Return: 0 or a negative errno.
 */
int record_put_file(struct record *r, const char *step, const char *path, const struct file *before,
                    const struct text *after);

/* Remember anything else. An entry that is there already stays as it is. */
int record_put(struct record *r, enum entry_kind kind, const char *step, const char *path);

/* Forget an entry, durably. Return: 0 (also if there is none) or a negative errno. */
int record_drop(struct record *r, enum entry_kind kind, const char *path);

/* Remove the record, which has to be empty, and its directory. Return: 0 or a negative errno. */
int record_remove(struct record *r);

#endif
