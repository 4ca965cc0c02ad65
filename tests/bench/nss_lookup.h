/* SPDX-License-Identifier: ISC */
/* nss_lookup.h - the look-ups that are measured: each checks its answer, and says how long it took.
 */
#ifndef ATELIER_BENCH_NSS_LOOKUP_H
#define ATELIER_BENCH_NSS_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The calls first, then what starts a program. Keys are those of the output. */
#define LOOKUPS(X)                                                                                 \
    X(NAME, "name")                                                                                \
    X(UID, "uid")                                                                                  \
    X(MISS_NAME, "miss-name")                                                                      \
    X(MISS_UID, "miss-uid")                                                                        \
    X(OUTSIDE, "outside")                                                                          \
    X(INITGROUPS, "initgroups")                                                                    \
    X(FIRST, "first") X(GETENT, "getent") X(ID, "id") X(LS, "ls")

enum lookup {
#define LOOKUP_ENUM(id, key) LOOKUP_##id,
    LOOKUPS(LOOKUP_ENUM)
#undef LOOKUP_ENUM
        LOOKUP__COUNT,
};

struct person {
    char name[32];
    uid_t uid;
};

/* What a scene knows: the first @people of @all. */
struct lookup_scene {
    const char *name;
    unsigned people; /* 0: nobody, every look-up has to miss */
    const struct person *all;
    unsigned all_count;
    char owners[256]; /* directory with files that belong to people of this scene */
};

__attribute__((noreturn, format(printf, 1, 2))) void lookup_die(const char *format, ...);

int64_t lookup_now_ns(void);

const char *lookup_key(enum lookup op);

/* Read DIRECTORY/people, all of whom are known; what it takes is never given back. */
void lookup_load(const char *dir, struct lookup_scene *ret_scene);

/* Of these people a scene knows the first @count, or nobody. */
void lookup_scene_set(struct lookup_scene *scene, const char *dir, const char *name,
                      unsigned count);

/* One of those whom the scene knows; of a scene that knows nobody, one of all. */
const struct person *lookup_person(const struct lookup_scene *scene, uint64_t seed);

/**
 * lookup_call() - One look-up in this process
 * @op:   One of those before LOOKUP_FIRST
 * @seed: Decides who is looked up
 *
 * Return: nanoseconds.
 */
int64_t lookup_call(const struct lookup_scene *scene, enum lookup op, uint64_t seed);

/* The whole of a program that looks one uid up, and prints how long that took. Return: 0. */
int lookup_first(uid_t uid, bool is_known);

/* How many system calls one warm look-up makes, counted by ptrace(2) in a child. */
unsigned lookup_syscalls(const struct lookup_scene *scene, enum lookup op);

#endif
