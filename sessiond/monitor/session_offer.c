/* SPDX-License-Identifier: ISC */
/* session_offer.c - OPENED: what a login is given to join and confine itself with. */
#include "sessiond/monitor/session_offer.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/sabotage.h"
#include "common/session_wire.h"
#include "policy/filter.h"
#include "policy/plan.h"
#include "sessiond/monitor/filter_proof.h"

#include "common/banned.h"

/* Not NEWNET, not NEWUSER: the owner rules match in the host's network, by the real uid. */
#define JOIN (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

static struct session_opened offer;

static int filter_fill(void)
{
    struct sock_filter *insns; /* kept: what logins have is compared with it */
    size_t count;
    int r = filter_build(FILTER_LOGIN, &insns, &count);

    if (r < 0)
        return r;
    filter_proof_program(FILTER_LOGIN, insns, count);
    if (count > SESSION_FILTER_MAX)
        return -E2BIG;
    for (size_t i = 0; i < count; i++)
        offer.filter[i] = (struct session_insn){
            .code = insns[i].code, .jt = insns[i].jt, .jf = insns[i].jf, .k = insns[i].k};
    offer.filter_count = (uint32_t)count;
    /* One filter, as it should be, but another one: it allows everything. */
    if (SABOTAGED("loginfilter")) {
        offer.filter[0] = (struct session_insn){.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
        offer.filter_count = 1;
    }
    return 0;
}

int session_offer_init(void)
{
    offer.head = (struct session_head){
        .version = SESSION_WIRE_VERSION, .type = SESSION_OPENED, .size_bytes = sizeof(offer)};
    offer.setns_flags = JOIN;
    return filter_fill();
}

_Static_assert(PLAN_RLIMITS_MAX <= SESSION_RLIMITS_MAX, "all limits of a plan fit");

int session_offer_send(int conn, const char *session_id, const struct plan *plan, int pidfd,
                       const struct scope *scope)
{
    int fds[2] = {[SESSION_FD_INIT] = pidfd, [SESSION_FD_LANDLOCK] = scope->ruleset_fd};

    memset(offer.rlimits, 0, sizeof(offer.rlimits));
    for (uint32_t i = 0; i < plan->rlimit_count; i++)
        offer.rlimits[i] = (struct session_rlimit){.resource = plan->rlimits[i].resource,
                                                   .is_exact = plan->rlimits[i].is_exact,
                                                   .value = plan->rlimits[i].value};
    offer.rlimit_count = plan->rlimit_count;
    str_cut(offer.session_id, sizeof(offer.session_id), session_id);
    str_cut(offer.probe_name, sizeof(offer.probe_name), scope->probe_name);
    offer.has_landlock = scope->ruleset_fd >= 0;
    return msg_send(conn, &offer, sizeof(offer), fds, offer.has_landlock ? 2 : 1);
}
