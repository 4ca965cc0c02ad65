/* SPDX-License-Identifier: ISC */
/* pam_service.c - PAM services of the test's own, and users that only this program knows. */
#include "tests/unit/pam_service.h"

#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/banned.h"

#define DIR_NAME "pam.d"

static const char *const names[] = {"only", "shared"};
static char confdir[256];
unsigned service_delay_us;

/* Found before libc's by every shared object of this process. */
int getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t size, struct passwd **ret)
{
    static const struct {
        const char *name;
        uid_t uid;
    } users[] = {{"alice", 10001}, {"ben", 10002},  {"late", 10003},
                 {"busy", 10004},  {"system", 990}, {"root", 0}};

    *ret = NULL;
    for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
        if (strcmp(users[i].name, name) != 0)
            continue;
        /* Always too small at first: whoever does not come again finds nobody. */
        if (size < 3000)
            return ERANGE;
        (void)snprintf(buf, size, "%s", name);
        *pw = (struct passwd){.pw_name = buf, .pw_uid = users[i].uid, .pw_gid = users[i].uid};
        *ret = pw;
        return 0;
    }
    return 0;
}

static int service_write(const char *name, const char *option, const char *behind)
{
    static const char *const kinds[] = {"auth", "account", "session", "password"};
    char path[64];
    FILE *f;

    (void)snprintf(path, sizeof(path), DIR_NAME "/%s", name);
    f = fopen(path, "w");
    if (!f)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        (void)fprintf(f, "%s required %s %s\n", kinds[i], TEST_MODULE, option);
        if (behind)
            (void)fprintf(f, "%s required %s\n", kinds[i], behind);
    }
    return fclose(f) == 0 ? 0 : -1;
}

int services_make(void **state)
{
    (void)state;
    if (mkdir(DIR_NAME, 0755) < 0 || !getcwd(confdir, sizeof(confdir) - sizeof(DIR_NAME) - 1))
        return -1;
    (void)snprintf(confdir + strlen(confdir), sizeof(DIR_NAME) + 1, "/" DIR_NAME);
    return service_write("only", "only", NULL) < 0 ||
                   service_write("shared", "", "pam_permit.so") < 0
               ? -1
               : 0;
}

void services_remove(void)
{
    char path[64];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), DIR_NAME "/%s", names[i]);
        (void)unlink(path);
    }
    (void)rmdir(DIR_NAME);
}

static void delay_note(int status, unsigned us, void *data)
{
    (void)status;
    (void)data;
    service_delay_us = us;
}

pam_handle_t *service_start(const char *service, const char *user, const struct pam_conv *conv)
{
    pam_handle_t *pamh = NULL;
    union {
        void (*call)(int, unsigned, void *);
        const void *item;
    } delay = {.call = delay_note};

    service_delay_us = 0;
    if (pam_start_confdir(service, user, conv, confdir, &pamh) != PAM_SUCCESS ||
        pam_set_item(pamh, PAM_RHOST, "192.0.2.1") != PAM_SUCCESS ||
        pam_set_item(pamh, PAM_TTY, "ssh") != PAM_SUCCESS ||
        pam_set_item(pamh, PAM_FAIL_DELAY, delay.item) != PAM_SUCCESS)
        return NULL;
    return pamh;
}
