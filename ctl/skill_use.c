/* SPDX-License-Identifier: ISC */
/* skill_use.c - which profiles of the policy that is in force name a skill. */
#include "ctl/skill_use.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/skill.h"
#include "ctl/answer.h"
#include "ctl/say.h"

#include "common/banned.h"

#define LIST "    skills = {"

/* "run {" or "profile course {". */
static bool section_read(const char *line, char ret_name[NAME_SIZE])
{
    const char *name = strncmp(line, "profile ", 8) == 0 ? line + 8 : line;
    size_t n = strcspn(name, " ");

    if (name[0] < 'a' || name[0] > 'z' || n >= NAME_SIZE || strcmp(name + n, " {\n") != 0)
        return false;
    memset(ret_name, 0, NAME_SIZE);
    memcpy(ret_name, name, n);
    return true;
}

int skill_use(FILE *policy, const char *pinned, json_t **ret_names)
{
    cleanup_json json_t *names = json_array();
    char quoted[SKILL_SIZE + 2], section[NAME_SIZE] = "";
    cleanup_free char *line = NULL;
    size_t room = 0;

    if (!names)
        say_no_memory();
    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", pinned);
    while (getline(&line, &room, policy) > 0) {
        if (section_read(line, section) || strncmp(line, LIST, strlen(LIST)) != 0 ||
            !strstr(line, quoted))
            continue;
        if (json_array_append_new(names, json_string(section)) < 0)
            say_no_memory();
    }
    if (ferror(policy))
        return -EIO;
    *ret_names = json_incref(names);
    return 0;
}
