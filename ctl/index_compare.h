/* SPDX-License-Identifier: ISC */
/*
 * index_compare.h - what NSS says about each user and group, beside what the registry says.
 *
 * The lookups are the C library's own. Which sources they ask is the caller's affair.
 */
#ifndef ATELIER_CTL_INDEX_COMPARE_H
#define ATELIER_CTL_INDEX_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct truth_user {
    const char *name; /* borrowed */
    uint32_t uid;
    uint32_t *gids; /* supplementary ones, ascending */
    size_t gid_count;
};

struct truth_group {
    const char *name; /* borrowed */
    uint32_t gid;
};

/* What the registry says. */
struct truth {
    struct truth_user *users; /* ascending by UID */
    size_t user_count;
    struct truth_group *groups; /* ascending by GID; without the private ones */
    size_t group_count;
    json_t *pages; /* owns the strings */
    json_int_t generation;
};

/**
 * truth_add_page() - Take over one page of GET /v1/index/AFTER
 * @page:    Borrowed
 *
 * Return: 0, -EINVAL if it makes no sense or does not follow on what is there, -ESTALE if it is of
 * another generation.
 */
int truth_add_page(struct truth *t, json_t *page);
void truth_done(struct truth *t);

/* Gets each difference: which question, about whom, and the two answers. Strings are borrowed. */
struct differences {
    void (*one)(void *arg, const char *question, const char *registry, const char *nss);
    void *arg;
};

/* Every question with our module as the only source: nothing else, and nobody more. */
void compare_module(const struct truth *t, const struct differences *d);

/* What the host's own order of sources says: the names and ids have to be the same people. */
void compare_host(const struct truth *t, const struct differences *d);

#endif
