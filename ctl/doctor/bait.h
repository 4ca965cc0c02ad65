/* SPDX-License-Identifier: ISC */
/*
 * bait.h - what a participant must not reach, laid out for as long as the doctor is at work.
 *
 * Everything is made by a process of its own, the keeper, which serves it, and takes it away when
 * the doctor has gone, however that went. What two killed processes would leave has names of ours,
 * and is swept by the next doctor and at the next start of the services (sweep.h).
 */
#ifndef ATELIER_CTL_DOCTOR_BAIT_H
#define ATELIER_CTL_DOCTOR_BAIT_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BAIT_OWN_MAX   4
#define BAIT_FILES_MAX 8
#define BAIT_PATH_SIZE 96
#define BAIT_WORD_SIZE 17 /* 16 hex digits */
#define BAIT_SHM_KEY   0x61746c64

struct bait {
    char word[BAIT_WORD_SIZE]; /* what the services say, and the files hold */
    uint16_t port4, port6;     /* TCP and UDP, on every address; 0: not there */
    uint32_t own4_count, own6_count, broadcast_count;
    char own4[BAIT_OWN_MAX][INET6_ADDRSTRLEN]; /* addresses of the host beside the loopback ones */
    char own6[BAIT_OWN_MAX][INET6_ADDRSTRLEN];
    char broadcast[BAIT_OWN_MAX][INET6_ADDRSTRLEN];
    uint32_t file_count;
    char files[BAIT_FILES_MAX][BAIT_PATH_SIZE];
    char path_socket[BAIT_PATH_SIZE]; /* "" if it could not be made; so for all below */
    char abstract_name[64];
    char queue[32];
    bool has_shm;
    bool is_ipc_others; /* something with our key or name is not root's, and stays */
    pid_t victim;       /* of the first participant's uid, outside of everything; 0: none */
    char secret[BAIT_WORD_SIZE]; /* among its arguments */
    int lifeline;                /* the doctor's end */
    pid_t keeper;
};

/**
 * bait_lay() - Lay it out
 * @uid:     Of the victim
 * @ret_why: On failure: static
 *
 * Return: owned by the caller, bait_free(); NULL if there is nothing.
 */
struct bait *bait_lay(uid_t uid, const char **ret_why);

/* Take it away, and wait until it is. NULL is fine. */
void bait_free(struct bait *b);

#endif
