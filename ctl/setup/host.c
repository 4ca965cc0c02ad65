/* SPDX-License-Identifier: ISC */
/* host.c - small questions about the host whose answers are texts. */
#include "ctl/setup/host.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/str.h"
#include "ctl/setup/keys.h"

#include "common/banned.h"

/* Those whose files we know. */
static const char *const releases[] = {"12", "13"};

static bool is_value(const char *start, size_t size, const char *text)
{
    return strlen(text) == size && memcmp(start, text, size) == 0;
}

int release_is_known(const struct text *os_release, struct complaint *ret_why)
{
    const char *id = "", *version = "";
    size_t id_size = 0, version_size = 0, line;

    (void)key_find(os_release, KEYS_ASSIGN, "ID", &id, &id_size, &line);
    (void)key_find(os_release, KEYS_ASSIGN, "VERSION_ID", &version, &version_size, &line);
    if (is_value(id, id_size, "debian")) {
        for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
            if (is_value(version, version_size, releases[i]))
                return 0;
        }
    }
    (void)snprintf(
        ret_why->what, sizeof(ret_why->what),
        "this is ID=%.*s VERSION_ID=%.*s; setup knows Debian 12 and 13, and does not guess "
        "how others are built",
        (int)(id_size < 32 ? id_size : 32), id, (int)(version_size < 32 ? version_size : 32),
        version);
    return -EINVAL;
}

bool kernel_is_known(const char *release)
{
    unsigned major, minor;

    return sscanf(release, "%u.%u", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 14));
}

bool has_word(const char *text, const char *word)
{
    struct word w = {.end = text};
    const char *limit = text + strcspn(text, "\n");

    while (word_next(&w, limit)) {
        if (word_is(&w, word))
            return true;
    }
    return false;
}

int text_file_read(const char *path, char *buf, size_t size)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n;
    int r;

    if (fd < 0)
        return -errno;
    r = fd_read_full(fd, buf, size - 1, &n);
    if (r == 0)
        buf[n] = '\0';
    return r;
}

uint32_t port_read(const char *start, size_t size)
{
    char text[8];
    uint32_t port = 0;

    if (size >= sizeof(text))
        return 0;
    memcpy(text, start, size);
    text[size] = '\0';
    (void)str_to_u32(text, UINT16_MAX, &port);
    return port;
}
