/* SPDX-License-Identifier: ISC */
/* exit.c - exit codes from answers of the API. */
#include "ctl/exit.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/str.h"

#include "common/banned.h"

enum ctl_exit exit_of_http(long http, const char *word)
{
    static const struct {
        const char *word;
        enum ctl_exit code;
    } words[] = {
        {"not_allowed", CTL_NOPERM},
        {"locked", CTL_NO},
        {"unknown_user", CTL_NO},
        {"busy", CTL_BUSY},
    };

    if (http >= 200 && http < 300)
        return CTL_OK;
    for (size_t i = 0; word && i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(word, words[i].word) == 0)
            return words[i].code;
    }
    switch (http) {
    case 400:
    case 413:
        return CTL_USAGE;
    case 403:
        return CTL_NOPERM;
    case 404:
    case 409:
        return CTL_NO;
    case 503:
        return CTL_UNAVAILABLE;
    default:
        return CTL_INTERNAL;
    }
}

enum ctl_exit exit_of_connect(int error)
{
    return error == EACCES || error == EPERM ? CTL_NOPERM : CTL_UNAVAILABLE;
}

int signal_number(const char *name)
{
    static const char realtime[] = "RTMIN+";
    uint32_t n;

    if (str_to_u32(name, (uint32_t)SIGRTMAX, &n) == 0)
        return (int)n;
    if (strncmp(name, realtime, strlen(realtime)) == 0) {
        if (str_to_u32(name + strlen(realtime), (uint32_t)(SIGRTMAX - SIGRTMIN), &n) < 0)
            return 0;
        return SIGRTMIN + (int)n;
    }
    for (int i = 1; i < SIGRTMIN; i++) {
        const char *abbrev = sigabbrev_np(i);

        if (abbrev && strcmp(abbrev, name) == 0)
            return i;
    }
    return 0;
}

int exit_of_end(const char *status, bool has_exit, long long code, const char *signal)
{
    int n;

    if (strcmp(status, "ok") == 0)
        return has_exit && code != 0 ? CTL_RUN_FAILED : CTL_OK;
    if (strcmp(status, "exit") == 0)
        return has_exit && code >= 0 && code <= UINT8_MAX ? (int)code : CTL_RUN_FAILED;
    if (strcmp(status, "signal") == 0) {
        n = signal ? signal_number(signal) : 0;
        return n > 0 ? CTL_RUN_SIGNAL + n : CTL_RUN_FAILED;
    }
    if (strcmp(status, "timeout_wall") == 0 || strcmp(status, "timeout_cpu") == 0)
        return CTL_RUN_TIMEOUT;
    return CTL_RUN_FAILED;
}
