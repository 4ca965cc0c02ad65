/* SPDX-License-Identifier: ISC */
/* inbound.h - what sessiond may send on core.sock, checked whole before anybody sees it. */
#ifndef ATELIER_API_INBOUND_H
#define ATELIER_API_INBOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "common/wire.h"
#include "common/wire_net.h"

/* Any message that sessiond may send. */
union inbound {
    struct wire_head head;
    struct wire_run_started started;
    struct wire_run_failed failed;
    struct wire_run_ended ended;
    struct wire_status status;
    struct wire_session_ask session_ask;
    struct wire_session_started session_started;
    struct wire_session_failed session_failed;
    struct wire_session_ended session_ended;
    struct wire_net_page net_page;
};

/**
 * inbound_is_good() - Does a message keep to common/wire.h?
 * @in:   @size bytes of it were received
 * @size: Of the packet
 *
 * Version, type, size, and every field that goes into JSON, the log, the audit or a table: text is
 * printable ASCII with a NUL, enums are in their bounds, a session id is 32 hex digits. What fits
 * to what was said before is for the tables to know.
 */
bool inbound_is_good(const union inbound *in, size_t size);

#endif
