/* SPDX-License-Identifier: ISC */
/* nss_fixture.c - the built module over an index of its own, and what every answer must be. */
#include "tests/unit/nss_fixture.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/ids.h"

#include "common/banned.h"

struct module nss, shipped;
struct index_user users[USER_COUNT];
struct index_group groups[USER_COUNT + 1];
const uint32_t gids_of_first[5] = {10000, 10002, 10003, 10004, 10005};
static char start_dir[] = "/tmp/atelier-nss-XXXXXX";
static const struct index_members members[] = {{"user0", gids_of_first, 5}};

static int module_load(const char *path, struct module *m)
{
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!so) {
        print_error("%s\n", dlerror());
        return -1;
    }
#define FUNCTION(name)                                                                             \
    do {                                                                                           \
        *(void **)&m->name = dlsym(so, "_nss_atelier_" #name);                                     \
        if (!m->name)                                                                              \
            return -1;                                                                             \
    } while (0)
    FUNCTION(getpwnam_r);
    FUNCTION(getpwuid_r);
    FUNCTION(setpwent);
    FUNCTION(getpwent_r);
    FUNCTION(endpwent);
    FUNCTION(getgrnam_r);
    FUNCTION(getgrgid_r);
    FUNCTION(setgrent);
    FUNCTION(getgrent_r);
    FUNCTION(endgrent);
    FUNCTION(initgroups_dyn);
#undef FUNCTION
    return 0;
}

int index_publish(size_t first, size_t count, uint64_t generation)
{
    const struct index_content content = {
        .users = users + first,
        .user_count = count,
        .groups = groups,
        .group_count = USER_COUNT + 1,
        .members = members,
        .member_count = 1,
        .generation = generation,
    };

    return index_build(INDEX_PATH, &content);
}

int nss_setup(void **state)
{
    (void)state;
    if (module_load(TEST_MODULE, &nss) < 0 || module_load(SHIPPED_MODULE, &shipped) < 0)
        return -1;
    if (!mkdtemp(start_dir) || chdir(start_dir) < 0 || mkdir(INDEX_DIR, 0755) < 0 ||
        chmod(INDEX_DIR, 0755) < 0)
        return -1;
    groups[0] = (struct index_group){10000, "atelier-users"};
    for (uint32_t i = 0; i < USER_COUNT; i++) {
        users[i] = (struct index_user){UID_FIRST + i, UID_FIRST + i, INDEX_SHELL_ATELIER, ""};
        (void)snprintf(users[i].name, sizeof(users[i].name), "user%u", i);
        groups[i + 1].gid = UID_FIRST + i;
        memcpy(groups[i + 1].name, users[i].name, sizeof(users[i].name));
    }
    users[1].shell = INDEX_SHELL_NOLOGIN;
    users[2].shell = 99;
    return 0;
}

int nss_teardown(void **state)
{
    (void)state;
    (void)unlink(INDEX_PATH);
    (void)unlink(INDEX_PATH ".tmp");
    return rmdir(INDEX_DIR) < 0 || chdir("/") < 0 || rmdir(start_dir) < 0 ? -1 : 0;
}

int index_setup(void **state)
{
    (void)state;
    nss.setpwent(0);
    nss.setgrent(0);
    return index_publish(0, USER_COUNT, 1);
}

static bool is_inside(const void *p, const char *buffer, size_t size)
{
    return (uintptr_t)p >= (uintptr_t)buffer && (uintptr_t)p < (uintptr_t)buffer + size;
}

void passwd_check(const struct passwd *pw, const char *buffer, size_t size)
{
    static const char parent[] = ATELIER_HOMES_DIR "/";

    assert_true(is_inside(pw->pw_name, buffer, size) && is_inside(pw->pw_passwd, buffer, size) &&
                is_inside(pw->pw_gecos, buffer, size) && is_inside(pw->pw_dir, buffer, size) &&
                is_inside(pw->pw_shell, buffer, size));
    assert_true(id_is_outer(pw->pw_uid) && id_is_outer(pw->pw_gid));
    assert_true(name_is_valid(pw->pw_name));
    assert_string_equal(pw->pw_passwd, "*");
    assert_string_equal(pw->pw_gecos, "");
    assert_memory_equal(pw->pw_dir, parent, sizeof(parent) - 1);
    assert_string_equal(pw->pw_dir + sizeof(parent) - 1, pw->pw_name);
    assert_true(strcmp(pw->pw_shell, "/usr/lib/atelier/shell") == 0 ||
                strcmp(pw->pw_shell, "/usr/sbin/nologin") == 0);
}

void group_check(const struct group *gr, const char *buffer, size_t size)
{
    assert_true(is_inside(gr->gr_name, buffer, size) && is_inside(gr->gr_passwd, buffer, size) &&
                is_inside(gr->gr_mem, buffer, size) && is_inside(gr->gr_mem + 1, buffer, size + 1));
    assert_int_equal((uintptr_t)gr->gr_mem % _Alignof(char *), 0);
    assert_null(gr->gr_mem[0]);
    assert_true(id_is_outer(gr->gr_gid));
    assert_true(name_is_valid(gr->gr_name));
    assert_string_equal(gr->gr_passwd, "*");
}

enum nss_status uid_ask(uid_t uid, struct passwd *pw, int *errnop)
{
    static __thread char buffer[ROOM];
    enum nss_status status = nss.getpwuid_r(uid, pw, buffer, sizeof(buffer), errnop);

    if (status == NSS_STATUS_SUCCESS)
        passwd_check(pw, buffer, sizeof(buffer));
    return status;
}

int foreign_keys_ask(const struct module *m)
{
    static const uint32_t ids[] = {0, 1, 33, 1000, 9999, 65001, 65534, 65535, ~0u};
    static const char *const names[] = {"",     "Root",  "../etc", "a b",   "user_1",
                                        "1234", "user.", "-user",  "user@", "user:x"};
    long start = 0, size = 0;
    gid_t *list = NULL;
    char buffer[ROOM];
    struct passwd pw;
    struct group gr;
    int bad = 0, error;

    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        bad += m->getpwuid_r(ids[i], &pw, buffer, ROOM, &error) != NSS_STATUS_NOTFOUND;
        bad += m->getgrgid_r(ids[i], &gr, buffer, ROOM, &error) != NSS_STATUS_NOTFOUND;
        if (ids[i] == (gid_t)-1) /* what nscd asks with: any group */
            continue;
        bad += m->initgroups_dyn("user0", ids[i], &start, &size, &list, -1, &error) !=
               NSS_STATUS_NOTFOUND;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        bad += m->getpwnam_r(names[i], &pw, buffer, ROOM, &error) != NSS_STATUS_NOTFOUND;
        bad += m->getgrnam_r(names[i], &gr, buffer, ROOM, &error) != NSS_STATUS_NOTFOUND;
        bad += m->initgroups_dyn(names[i], 10001, &start, &size, &list, -1, &error) !=
               NSS_STATUS_NOTFOUND;
    }
    bad += m->initgroups_dyn("root", 0, &start, &size, &list, -1, &error) != NSS_STATUS_NOTFOUND;
    return bad + (start != 0) + (list != NULL);
}

int fds_count(void)
{
    int n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

uint32_t noise(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}
