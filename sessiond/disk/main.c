/* SPDX-License-Identifier: ISC */
/*
 * main.c - atelier-image: mounts the home of a user that is an image, unmounts it, makes one of a
 * directory.
 *
 * A short-lived program of root's, started by sessiond and by the atelier command. sessiond has a
 * mount namespace of its own, out of which no mount gets to the host; so this one joins that of
 * PID 1, and the mount arrives in sessiond's from there. Where the two are the same, as in a
 * container, nothing is joined.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "sessiond/disk/convert.h"
#include "sessiond/disk/image.h"

#include "common/banned.h"

static int host_join(void)
{
    cleanup_close int fd = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);
    struct stat theirs, ours;

    if (fd < 0 || fstat(fd, &theirs) < 0 || stat("/proc/self/ns/mnt", &ours) < 0)
        return -errno;
    if (theirs.st_ino == ours.st_ino)
        return 0;
    return setns(fd, CLONE_NEWNS) < 0 ? -errno : 0;
}

static int number(const char *text, uint64_t *ret_v)
{
    char *end;

    errno = 0;
    *ret_v = strtoull(text, &end, 10);
    return errno != 0 || end == text || *end != '\0' || text[0] < '0' || text[0] > '9' ? -EINVAL
                                                                                       : 0;
}

static int usage(void)
{
    (void)fputs("usage: atelier-image up|convert UID NAME BYTES FILES\n"
                "       atelier-image open|down|remove|settle UID NAME\n",
                stderr);
    return EX_USAGE;
}

static enum image_exit exit_of(int r)
{
    switch (r) {
    case 0:
        return IMAGE_DONE;
    case -ENODATA:
        return IMAGE_NONE;
    case -EEXIST:
        return IMAGE_DIRECTORY;
    case -EBUSY:
        return IMAGE_BUSY;
    default:
        return IMAGE_FAILED;
    }
}

static int operate(struct image *im, const char *what, uint64_t bytes, uint64_t files)
{
    int r = image_lock(im);

    if (r == 0)
        r = convert_settle(im);
    if (r == 0) {
        if (strcmp(what, "up") == 0)
            r = image_up(im, bytes, files);
        else if (strcmp(what, "open") == 0)
            r = image_up(im, 0, 0);
        else if (strcmp(what, "down") == 0)
            r = image_down(im);
        else if (strcmp(what, "remove") == 0)
            r = image_remove(im);
        else if (strcmp(what, "convert") == 0)
            r = convert_home(im, bytes, files);
    }
    if (exit_of(r) == IMAGE_FAILED)
        (void)fprintf(stderr, "atelier-image: %s %u %s: %s: %s\n", what, im->uid, im->name,
                      im->ret_what, strerror(-r));
    image_unlock(im);
    return exit_of(r);
}

int main(int argc, char *argv[])
{
    uint64_t uid, bytes = 0, files = 0;
    struct image im = {0};
    bool is_sized;

    if (argc < 4)
        return usage();
    is_sized = strcmp(argv[1], "up") == 0 || strcmp(argv[1], "convert") == 0;
    if (!is_sized && strcmp(argv[1], "open") != 0 && strcmp(argv[1], "down") != 0 &&
        strcmp(argv[1], "remove") != 0 && strcmp(argv[1], "settle") != 0)
        return usage();
    if (argc != (is_sized ? 6 : 4) || number(argv[2], &uid) < 0 || uid > UINT32_MAX ||
        !id_is_allocatable((uint32_t)uid) || !name_is_valid(argv[3]))
        return usage();
    if (is_sized && (number(argv[4], &bytes) < 0 || number(argv[5], &files) < 0 || bytes == 0))
        return usage();
    im.uid = (uint32_t)uid;
    (void)str_copy(im.name, sizeof(im.name), argv[3]);
    (void)umask(077);
    /* Whoever does not listen any more is seen by an error, which takes back what was begun. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (chdir("/") < 0 || host_join() < 0) {
        (void)fprintf(stderr, "atelier-image: the mount namespace of the host: %s\n",
                      strerror(errno));
        return IMAGE_FAILED;
    }
    return operate(&im, argv[1], bytes, files);
}
