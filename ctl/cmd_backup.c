/* SPDX-License-Identifier: ISC */
/* cmd_backup.c - atelier backup */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/backup_file.h"
#include "ctl/cmd.h"
#include "ctl/say.h"

#include "common/banned.h"

#define PATIENCE_S 10 /* for another backup */

/* Return: a descriptor, or a negative errno, and it has been said. */
static int target_open(const char *file)
{
    int fd;

    if (strcmp(file, "-") == 0) {
        if (isatty(STDOUT_FILENO) == 1) {
            say_error("standard output is a terminal: a backup is no text");
            return -EINVAL;
        }
        return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    }
    fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        say_error("%s: %s%s", file, strerror(errno),
                  errno == EEXIST ? "; a backup does not overwrite anything" : "");
    return fd;
}

/* Return: 0 or a negative errno, and it has been said. */
static int backup_carry(int dir, const char *name, json_int_t bytes, const char *file, int target)
{
    bool is_file = strcmp(file, "-") != 0;
    int r = dir < 0 ? dir : backup_take(dir, name, (uint64_t)bytes, target);

    if (r == 0 && is_file && (fsync(target) < 0 || (r = parent_sync(file)) < 0))
        r = r < 0 ? r : -errno;
    (void)unlinkat(dir, name, 0);
    if (r < 0)
        say_error("cannot copy the backup to %s: %s", is_file ? file : "standard output",
                  r == -EPERM ? "what sessiond-api left is not a whole file of its own"
                              : strerror(-r));
    return r;
}

int cmd_backup(struct options *opt, int argc, char **argv)
{
    cleanup_json json_t *body = json_object();
    cleanup_answer struct answer a = {0};
    json_int_t bytes, generation, users, groups;
    const char *file = NULL, *name;
    cleanup_close int target = -1, dir = -1;
    struct options quiet;
    json_error_t error;
    enum ctl_exit code;

    if (!body)
        say_no_memory();
    if (args_parse_operand(opt, argc, argv, 0, "FILE|-",
                           "Write a copy of the registry, as of this moment, into a new file.\vThe "
                           "service goes on. The copy has e-mail addresses and the hashes of links "
                           "in it: it is for root alone.",
                           &file) < 0)
        return CTL_USAGE;
    dir = registry_lock(PATIENCE_S);
    if (dir < 0 && dir != -ENOENT) /* then the api says more */
        return (int)registry_lock_say(dir);
    target = target_open(file);
    if (target < 0)
        return target == -EINVAL ? CTL_USAGE : CTL_NO;
    quiet = *opt;
    quiet.json = opt->json && strcmp(file, "-") != 0; /* standard output may be the copy's */
    code = answer_get(&quiet, "POST", "/v1/backup", body, &a);
    if (code == CTL_OK &&
        json_unpack_ex(a.json, &error, 0, "{s:s, s:I, s:I, s:I, s:I}", "file", &name, "bytes",
                       &bytes, "generation", &generation, "users", &users, "groups", &groups) < 0)
        code = answer_is_strange(error.text);
    if (code == CTL_OK && (strchr(name, '/') || strcmp(name, "..") == 0 || bytes < 1))
        code = answer_is_strange("file");
    if (code == CTL_OK && backup_carry(dir, name, bytes, file, target) < 0)
        code = CTL_NO;
    if (code != CTL_OK) {
        if (strcmp(file, "-") != 0)
            (void)unlink(file);
        return (int)code;
    }
    if (!opt->json && strcmp(file, "-") != 0)
        (void)printf("%" JSON_INTEGER_FORMAT " users, %" JSON_INTEGER_FORMAT
                     " groups, generation %" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT
                     " bytes\n",
                     users, groups, generation, bytes);
    return CTL_OK;
}
