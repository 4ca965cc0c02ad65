/* SPDX-License-Identifier: ISC */
/* network.h - /v1/network: who reached what, as sessiond reads it from the kernel. */
#ifndef ATELIER_API_NETWORK_H
#define ATELIER_API_NETWORK_H

#include "common/wire_net.h"

struct app;
struct network;

int network_new(struct app *app, struct network **ret_network);
/* No request may wait: network_down() first. */
void network_free(struct network *network);

/* Called by the line to sessiond. Return: 0, or -ENOENT if nothing was asked. */
int network_page(struct network *network, const struct wire_net_page *m);
void network_down(struct network *network);

#endif
