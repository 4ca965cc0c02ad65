/* SPDX-License-Identifier: ISC */
/* host_kernel.c - what the kernel can do, and how it is switched. */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "ctl/doctor/checks.h"
#include "ctl/setup/host.h"

#include "common/banned.h"

void check_kernel(struct doctor *d, struct doctor_line *l)
{
    struct utsname name;

    (void)d;
    if (uname(&name) < 0)
        doctor_say(l, DOCTOR_UNKNOWN, "uname: %s", strerror(errno));
    else if (!kernel_is_known(name.release))
        doctor_say(l, DOCTOR_FAIL, "%s is older than 5.14", name.release);
    else
        doctor_say(l, DOCTOR_PASS, "%s", name.release);
}
