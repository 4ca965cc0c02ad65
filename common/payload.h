/* SPDX-License-Identifier: ISC */
/*
 * payload.h - the program of a run: argv, environment and source text in one sealed memfd.
 *
 * Layout: struct payload_head, then argc strings, then envc strings, each with its NUL, then
 * code_bytes bytes of source text. The api packs it; the process that becomes the program, already
 * without privileges, unpacks it. sessiond only checks seals and size.
 */
#ifndef ATELIER_PAYLOAD_H
#define ATELIER_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#define PAYLOAD_MAGIC     0x314c5450u /* "PTL1" */
#define PAYLOAD_SIZE_MAX  (4u << 20)
#define PAYLOAD_ARGC_MAX  1024u
#define PAYLOAD_ENVC_MAX  256u
#define PAYLOAD_CODE_NAME 32u

struct payload_head {
    uint32_t magic;
    uint32_t argc; /* 1..PAYLOAD_ARGC_MAX */
    uint32_t envc; /* 0..PAYLOAD_ENVC_MAX */
    uint32_t code_bytes;
    char code_name[PAYLOAD_CODE_NAME]; /* file in HOME that gets the source text; "": none */
};

/* What payload_parse() finds. The pointers are into the parsed memory. */
struct payload {
    char **argv; /* NULL-terminated; heap */
    char **envp; /* NULL-terminated; heap */
    const char *code;
    size_t code_bytes;
    const char *code_name; /* NULL if there is no source text */
};

/**
 * payload_pack() - Make a sealed memfd from its parts
 * @argv:       NULL-terminated, at least one string
 * @envp:       NULL-terminated, "NAME=value"
 * @code_name:  File name for the source text, or NULL for none
 * @code:       Source text, may hold any byte; NULL if @code_name is
 * @code_bytes: Its length
 * @ret_fd:     memfd with SEAL, SHRINK, GROW and WRITE seals, owned by the caller
 *
 * Return: 0, -E2BIG over a limit of this header, -EINVAL for a bad code name, or the errno of
 * memfd_create(2) and friends.
 */
int payload_pack(char *const argv[], char *const envp[], const char *code_name, const char *code,
                 size_t code_bytes, int *ret_fd);

/**
 * payload_seal_bytes() - Make a sealed memfd that holds bytes as they are (standard input)
 * @bytes:  Content; may be NULL if @size is 0
 * @size:   At most PAYLOAD_SIZE_MAX
 * @ret_fd: memfd, read position 0, owned by the caller
 *
 * Return: 0, -E2BIG, or a negative errno.
 */
int payload_seal_bytes(const void *bytes, size_t size, int *ret_fd);

/**
 * payload_parse() - Find argv, environment and source text in packed memory
 * @mem:     Packed bytes, writable (strings are handed to execve), borrowed for as long as @ret_p
 * @size:    Their number
 * @ret_p:   The parts; release with payload_done()
 *
 * Every count and string is checked against @size; the code name must be one path component.
 *
 * Return: 0, -EBADMSG if anything does not fit, -ENOMEM.
 */
int payload_parse(char *mem, size_t size, struct payload *ret_p);

void payload_done(struct payload *p);

#endif
