/* SPDX-License-Identifier: ISC */
/* host_nss.c - the host knows the users of the registry, as the registry has them. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ids.h"
#include "ctl/answer.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/facts.h"
#include "ctl/index_verify.h"
#include "ctl/setup/file.h"
#include "ctl/setup/host.h"
#include "ctl/setup/nsswitch.h"
#include "ctl/setup/program.h"

#include "common/banned.h"

#define NSSWITCH   "/etc/nsswitch.conf"
#define NSS_MODULE "libnss_atelier.so.2"
#define GETENT     "/usr/bin/getent"
#define GETENT_S   30

/* The line of a database, without its end; "" if there is none. */
static struct line line_of(const struct text *file, const char *database)
{
    size_t size = strlen(database);
    struct line line = {0};

    while (line_next(file, &line)) {
        if (line.size > size && memcmp(line.start, database, size) == 0 && line.start[size] == ':')
            return line;
    }
    return (struct line){.start = ""};
}

void check_nsswitch(struct doctor *d, struct doctor_line *l)
{
    static const char *const databases[] = {"passwd", "group"};
    cleanup_file struct file f = {0};
    cleanup_text struct text wanted = {0};
    struct complaint why = {0};
    int r = file_read(NSSWITCH, &f);

    (void)d;
    if (r < 0) {
        doctor_say(l, DOCTOR_UNKNOWN, NSSWITCH ": %s", strerror(-r));
        return;
    }
    if (nsswitch_edit(&f.text, &wanted, &why) < 0) {
        doctor_say(l, DOCTOR_FAIL, NSSWITCH ":%zu: %s", why.line, why.what);
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        struct line now = line_of(&f.text, databases[i]), then = line_of(&wanted, databases[i]);

        if (!line_is_same(&now, &then))
            doctor_say(l, DOCTOR_FAIL, NSSWITCH ":%zu: \"%.*s\" does not ask atelier", now.number,
                       (int)now.size, now.start);
        else
            doctor_say(l, DOCTOR_PASS, "%.*s", (int)now.size, now.start);
    }
    if (!text_is_same(&f.text, &wanted))
        doctor_say(l, DOCTOR_FAIL, NSSWITCH ": the line initgroups does not ask atelier");
}

/* Programs that AppArmor confines look people up, too, and read the index then. */
void check_apparmor(struct doctor *d, struct doctor_line *l)
{
    static const char rule[] = ATELIER_SYSCONF_DIR "/apparmor.d/abstractions/nameservice.d/atelier";
    char enabled[8];

    (void)d;
    if (text_file_read("/sys/module/apparmor/parameters/enabled", enabled, sizeof(enabled)) < 0 ||
        enabled[0] != 'Y')
        doctor_say(l, DOCTOR_SKIP, "this kernel does not confine programs by AppArmor");
    else if (access(rule, R_OK) < 0)
        doctor_say(l, DOCTOR_FAIL, "%s: %s", rule, strerror(errno));
    else
        doctor_say(l, DOCTOR_PASS, "%s is there", rule);
}

/* It is loaded into every process of the host: whoever may write to it is root. */
void check_nss_module(struct doctor *d, struct doctor_line *l)
{
    void *module = dlopen(NSS_MODULE, RTLD_NOW | RTLD_LOCAL), *symbol;
    struct stat st;
    Dl_info info;

    (void)d;
    if (!module) {
        doctor_say(l, DOCTOR_FAIL, "the loader does not find %s", NSS_MODULE);
        return;
    }
    symbol = dlsym(module, "_nss_atelier_getpwnam_r");
    if (!symbol || dladdr(symbol, &info) == 0 || !info.dli_fname)
        doctor_say(l, DOCTOR_FAIL, "%s is not ours", NSS_MODULE);
    else if (stat(info.dli_fname, &st) < 0)
        doctor_say(l, DOCTOR_UNKNOWN, "%s: %s", info.dli_fname, strerror(errno));
    else if (st.st_uid != 0 || st.st_mode & (S_IWGRP | S_IWOTH | S_ISUID | S_ISGID))
        doctor_say(l, DOCTOR_FAIL, "%s has owner %u and mode %04o", info.dli_fname, st.st_uid,
                   st.st_mode & 07777u);
    else
        doctor_say(l, DOCTOR_PASS, "%s, root's, mode %04o", info.dli_fname, st.st_mode & 07777u);
    (void)dlclose(module);
}

/* Asked by another program, as any program asks. Return: whether the answer begins with it. */
static bool is_answered(const char *database, const char *key, struct doctor_line *l)
{
    cleanup_text struct text answer = {0};
    int r = program_run(ARGV(GETENT, database, key), GETENT_S, &answer);
    size_t size = strlen(key);

    if (r < 0)
        doctor_say(l, DOCTOR_UNKNOWN, GETENT ": %s", strerror(-r));
    else if (r != 0 || answer.size <= size || memcmp(answer.bytes, key, size) != 0)
        doctor_say(l, DOCTOR_FAIL, "getent %s %s does not find it (exit code %d)", database, key,
                   r);
    else
        return true;
    return false;
}

void check_nss_lookup(struct doctor *d, struct doctor_line *l)
{
    char name[32];

    if (is_answered("group", GROUP_ALL_USERS, l))
        doctor_say(l, DOCTOR_PASS, "getent finds the group %s", GROUP_ALL_USERS);
    if (facts_participant(d, name) == 0 && is_answered("passwd", name, l))
        doctor_say(l, DOCTOR_PASS, "and the user %s", name);
}

void check_nss_registry(struct doctor *d, struct doctor_line *l)
{
    struct index_verdict v = {0};
    const json_t *first;
    const char *why;
    size_t count;

    if (!facts_health(d, &why)) {
        doctor_say(l, DOCTOR_UNKNOWN, "the registry cannot be asked: %s", why);
        return;
    }
    if (index_verify(d->opt, &v) != CTL_OK) {
        doctor_say(l, DOCTOR_UNKNOWN, "it could not be compared, for the reason above");
        return;
    }
    count = json_array_size(v.found);
    first = json_array_get(v.found, 0);
    if (count > 0)
        doctor_say(l, DOCTOR_FAIL, "%zu answers differ; %s: the registry has %s, NSS says %s",
                   count, json_text(json_object_get(first, "question")),
                   json_text(json_object_get(first, "registry")),
                   json_text(json_object_get(first, "nss")));
    else
        doctor_say(l, DOCTOR_PASS, "every answer: users %zu, groups %zu, generation %lld", v.users,
                   v.groups, (long long)v.generation);
    json_decref(v.found);
}
