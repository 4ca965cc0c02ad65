/* SPDX-License-Identifier: ISC */
/* inbound.c - what sessiond may send on core.sock, checked whole before anybody sees it. */
#include "sessiond/api/inbound.h"

#include <stdint.h>

#include "sessiond/api/outcome.h"

#include "common/banned.h"

#define SESSION_ID_DIGITS 32u

/* 0: sessiond never sends this. */
static size_t size_of(uint32_t type)
{
    switch (type) {
    case WIRE_WELCOME:
    case WIRE_LOCK_TAKEN:
    case WIRE_LOCK_BUSY:
    case WIRE_LOCK_LOST:
    case WIRE_SESSION_SYNCED:
        return sizeof(struct wire_head);
    case WIRE_RUN_STARTED:
        return sizeof(struct wire_run_started);
    case WIRE_RUN_FAILED:
        return sizeof(struct wire_run_failed);
    case WIRE_RUN_ENDED:
        return sizeof(struct wire_run_ended);
    case WIRE_STATUS:
        return sizeof(struct wire_status);
    case WIRE_SESSION_ASK:
        return sizeof(struct wire_session_ask);
    case WIRE_SESSION_STARTED:
        return sizeof(struct wire_session_started);
    case WIRE_SESSION_FAILED:
        return sizeof(struct wire_session_failed);
    case WIRE_SESSION_ENDED:
        return sizeof(struct wire_session_ended);
    case WIRE_NET_PAGE:
        return sizeof(struct wire_net_page);
    default:
        return 0;
    }
}

/* ASCII with a NUL, as wire.h promises: it goes into JSON and the log. */
static bool is_text(const char *field, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (field[i] == '\0')
            return true;
        if (field[i] < 0x20 || field[i] > 0x7e)
            return false;
    }
    return false;
}

#define IS_TEXT(field) is_text(field, sizeof(field))

static bool is_session_id(const char id[WIRE_SESSION_ID_SIZE])
{
    for (size_t i = 0; i < SESSION_ID_DIGITS; i++) {
        if (!((id[i] >= '0' && id[i] <= '9') || (id[i] >= 'a' && id[i] <= 'f')))
            return false;
    }
    for (size_t i = SESSION_ID_DIGITS; i < WIRE_SESSION_ID_SIZE; i++) {
        if (id[i] != '\0')
            return false;
    }
    return true;
}

static bool skills_are_good(const struct wire_receipt *r)
{
    if (r->skill_count > WIRE_SKILLS_MAX)
        return false;
    for (uint32_t i = 0; i < r->skill_count; i++) {
        if (!IS_TEXT(r->skills[i]) || !skill_is_pinned(r->skills[i]))
            return false;
    }
    return true;
}

static bool receipt_is_good(const struct wire_receipt *r)
{
    return r->group_count <= WIRE_GROUPS_MAX && r->cgroup_mode <= WIRE_CGROUP_V2 &&
           r->filter_how < WIRE_FILTER__COUNT && r->disk < WIRE_DISK__COUNT && r->net_group <= 1 &&
           IS_TEXT(r->cgroup_leaf) && skills_are_good(r);
}

static bool status_is_good(const struct wire_status *m)
{
    return m->canary <= WIRE_CANARY_NO_TARGET && m->cgroup_mode <= WIRE_CGROUP_V2 &&
           IS_TEXT(m->canary_what) && m->disk < WIRE_DISK__COUNT && m->disk_required <= 1 &&
           IS_TEXT(m->disk_what) && m->net_group <= 1;
}

static bool ask_is_good(const struct wire_session_ask *m)
{
    return m->head.tag > 0 && IS_TEXT(m->service) && IS_TEXT(m->tty) && IS_TEXT(m->rhost);
}

static bool session_started_is_good(const struct wire_session_started *m)
{
    return m->is_scoped <= 1 && m->started_us > 0 && is_session_id(m->session_id) &&
           IS_TEXT(m->service) && IS_TEXT(m->line) && IS_TEXT(m->rhost) &&
           receipt_is_good(&m->receipt);
}

static bool session_failed_is_good(const struct wire_session_failed *m)
{
    return m->head.tag > 0 && outcome_step_is_known(m->step) && is_session_id(m->session_id) &&
           IS_TEXT(m->what);
}

static bool session_ended_is_good(const struct wire_session_ended *m)
{
    return m->end < WIRE_SESSION_END__COUNT && m->ended_us > 0 && is_session_id(m->session_id);
}

static bool net_page_is_good(const struct wire_net_page *m)
{
    if (m->is_last > 1 || m->sum.is_cut > 1 || m->user_count > WIRE_NET_PAGE_USERS ||
        m->refused_count > WIRE_NET_PAGE_REFUSED || m->rule_count > WIRE_NET_PAGE_RULES)
        return false;
    for (uint32_t i = 0; i < m->refused_count; i++) {
        if ((m->refused[i].family != 4 && m->refused[i].family != 6) ||
            m->refused[i].reason >= WIRE_NET_REASON__COUNT)
            return false;
    }
    for (uint32_t i = 0; i < m->rule_count; i++) {
        if (m->rules[i].reason >= WIRE_NET_REASON__COUNT || !IS_TEXT(m->rules[i].text))
            return false;
    }
    return true;
}

static bool body_is_good(const union inbound *in)
{
    switch (in->head.type) {
    case WIRE_RUN_STARTED:
        return receipt_is_good(&in->started.receipt);
    case WIRE_RUN_FAILED:
        return outcome_step_is_known(in->failed.step) && IS_TEXT(in->failed.what);
    case WIRE_RUN_ENDED:
        return outcome_end_is_known(in->ended.end);
    case WIRE_STATUS:
        return status_is_good(&in->status);
    case WIRE_SESSION_ASK:
        return ask_is_good(&in->session_ask);
    case WIRE_SESSION_STARTED:
        return session_started_is_good(&in->session_started);
    case WIRE_SESSION_FAILED:
        return session_failed_is_good(&in->session_failed);
    case WIRE_SESSION_ENDED:
        return session_ended_is_good(&in->session_ended);
    case WIRE_NET_PAGE:
        return net_page_is_good(&in->net_page);
    default:
        return true; /* a head alone */
    }
}

bool inbound_is_good(const union inbound *in, size_t size)
{
    return size >= sizeof(in->head) && in->head.version == WIRE_VERSION &&
           in->head.size_bytes == size && size == size_of(in->head.type) && body_is_good(in);
}
