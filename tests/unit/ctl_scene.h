/* SPDX-License-Identifier: ISC */
/*
 * ctl_scene.h - a command of ours against a socket whose answers are given byte by byte.
 *
 * A child listens on a socket in a new directory, reads one request whole, sends the bytes of the
 * test, and closes; once for each answer. The command runs in the test's process with its output
 * in a file.
 */
#ifndef ATELIER_TEST_CTL_SCENE_H
#define ATELIER_TEST_CTL_SCENE_H

#include <stdbool.h>
#include <stddef.h>

#include "ctl/args.h"

#define OUTPUT_MAX 16384

struct scene {
    char dir[64];
    char path[80];
    char request[16384]; /* what the command sent, one request after the other */
    char out[OUTPUT_MAX], err[OUTPUT_MAX];
};

/* cmocka set-up and tear-down: *state is a struct scene. */
int scene_setup(void **state);
int scene_teardown(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)

#define WORDS(...)   ((const char *const[]){__VA_ARGS__, NULL})
#define ANSWERS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define HEAD(status) "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n"

typedef int (*command_fn)(struct options *opt, int argc, char **argv);

/* A listening socket at a path, in place of what is there. */
int listen_at(const char *path);

/* Run a command; what it wrote is in @s afterwards. Return: its exit code, here and below. */
int command(struct scene *s, command_fn fn, bool json, const char *const *words);

/* Run a command that sends one request and gets these bytes. */
int answered_n(struct scene *s, const char *answer, size_t size, command_fn fn, bool json,
               const char *const *words);
int answered(struct scene *s, const char *answer, command_fn fn, bool json,
             const char *const *words);

/* The same for a command that sends exactly as many requests as there are answers. */
int answered_all(struct scene *s, const char *const *answers, command_fn fn, bool json,
                 const char *const *words);

#endif
