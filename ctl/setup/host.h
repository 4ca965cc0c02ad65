/* SPDX-License-Identifier: ISC */
/* host.h - small questions about the host whose answers are texts. */
#ifndef ATELIER_CTL_SETUP_HOST_H
#define ATELIER_CTL_SETUP_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/setup/complaint.h"
#include "ctl/setup/text.h"

/* Whether os-release(5) is that of a release we know. Return: 0 or -EINVAL. */
int release_is_known(const struct text *os_release, struct complaint *ret_why);

/* Whether a kernel's release ("6.1.0-49-cloud-amd64") is 5.14 or later: cgroup.kill. */
bool kernel_is_known(const char *release);

/* Whether blank-separated words have this one. */
bool has_word(const char *text, const char *word);

/* The first bytes of a file in /proc or /sys. Return: 0 or a negative errno. */
int text_file_read(const char *path, char *buf, size_t size);

/* A number from 1 to 65535, or 0. */
uint32_t port_read(const char *start, size_t size);

#endif
