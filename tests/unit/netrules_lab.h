/* SPDX-License-Identifier: ISC */
/*
 * netrules_lab.h - two network namespaces with the rules of policy/netrules.c in one of them.
 *
 * "host", where the rules are loaded and which the process is in, and "world", joined by a veth
 * pair. No packet leaves them, nothing outside them changes, and they are gone with the process.
 */
#ifndef ATELIER_TEST_NETRULES_LAB_H
#define ATELIER_TEST_NETRULES_LAB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "policy/netrules.h"

#define OUTPUT_SIZE 8192

extern const char *lab_backend; /* "nft" or "legacy" */
extern int lab_host_ns, lab_world_ns;

/* A test for each backend, and what comes after it or NULL. */
#define BOTH_THEN(f, after)                                                                        \
    {#f " (nft)", f, NULL, after, (char[]){"nft"}},                                                \
    {                                                                                              \
#f " (legacy)", f, NULL, after, (char[])                                                   \
        {                                                                                          \
            "legacy"                                                                               \
        }                                                                                          \
    }
#define BOTH(f) BOTH_THEN(f, NULL)

/* New namespaces without rules. *state is the backend. Skips the test without root. */
void lab_make(void **state);
void ns_enter(int fd);

/* Runs @words (one blank between) with @input; output goes to @output. Return: exit code. */
int tool_run(const char *words, const char *input, char output[OUTPUT_SIZE]);
/* The same; the test fails unless the exit code is 0. */
__attribute__((format(printf, 1, 2))) void tool(const char *format, ...);

const char *tables(enum netrules_family family);
int rules_restore(enum netrules_family family, const char *text);
void rules_load(const struct netrules_spec *spec);
void rules_list(enum netrules_family family, const char *chain, char output[OUTPUT_SIZE]);

socklen_t address_make(const char *host, uint16_t port, struct sockaddr_storage *ret);
/* TCP on all addresses of both families; the kernel answers, nobody need accept. */
int listener_make(uint16_t port);
int listener_make_in_world(uint16_t port);

/* What @uid gets: 0 (connected, or sent) or an errno. The socket is made and used by a child. */
int probe(uid_t uid, int type, int protocol, const char *host, uint16_t port, int timeout_ms);
void assert_tcp(uid_t uid, const char *host, uint16_t port, int want);
void assert_udp(uid_t uid, const char *host, uint16_t port, int want);

#endif
