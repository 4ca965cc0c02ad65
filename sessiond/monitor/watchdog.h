/* SPDX-License-Identifier: ISC */
/*
 * watchdog.h - sessiond tells the service manager that it still turns, and its spawner, too.
 *
 * A spawner that is stuck starts nothing for anybody, and only its death would be noticed. So each
 * time a message is due the spawner is pinged, and the message goes out when it has answered.
 */
#ifndef ATELIER_WATCHDOG_H
#define ATELIER_WATCHDOG_H

#include "sessiond/monitor/monitor.h"

/* Does nothing if nobody watches (notify.h). Return: 0 or -ENOMEM. */
int watchdog_init(struct monitor *m);

#endif
