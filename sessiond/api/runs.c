/* SPDX-License-Identifier: ISC */
/* runs.c - POST /v1/runs: who may run what, and the parts of a run made from the body. */
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/payload.h"
#include "sessiond/api/handlers.h"
#include "sessiond/api/limits.h"
#include "sessiond/api/run.h"
#include "sessiond/api/run_spec.h"
#include "sessiond/api/subject.h"
#include "sessiond/shared/log.h"

#include "common/banned.h"

/* What is not given, and what is too much: by the policy, for this user and these groups. */
static int limit(struct run_spec *spec, const struct run_plan *plan, struct error *e)
{
    uint32_t gids[WIRE_GROUPS_MAX];
    struct limits limits;

    for (size_t i = 0; i < plan->group_count; i++)
        gids[i] = plan->groups[i].gid;
    limits_of(plan->user.uid, gids, plan->group_count, &limits);
    return run_spec_limit(spec, &limits, e);
}

static int make_plan(struct request *rq, struct run_spec *spec, struct run_plan *ret_plan,
                     struct error *e)
{
    int r = subject_find(rq, spec->user_name, spec->user_uid, &ret_plan->user, e);

    if (r < 0)
        return r;
    if (spec->net_public && rq->door == DOOR_API &&
        !(rq->caller.verbs & (1u << CALLER_VERB_NET_PUBLIC)))
        return subject_deny(rq, ret_plan->user.uid, "net",
                            "This caller does not have the right net-public", e);
    if (group_of_user(rq->app->reg, ret_plan->user.uid, ret_plan->groups, WIRE_GROUPS_MAX,
                      &ret_plan->group_count) < 0)
        return subject_registry_failed(rq, e);
    r = limit(spec, ret_plan, e);
    if (r < 0)
        return r;
    ret_plan->net_public = spec->net_public;
    ret_plan->wall_ms = spec->wall_ms;
    ret_plan->cpu_ms = spec->cpu_ms;
    ret_plan->out_kb = spec->out_kb;
    ret_plan->limits_required = spec->limits_required;
    return 0;
}

static int pack_failed(int r, const char *field, struct error *e)
{
    if (r == -E2BIG)
        return error_field(e, field, "%s is too large.", field);
    log_warning("a run could not be packed: %s", strerrorname_np(-r));
    return error_set(e, 503, STATUS_BUSY, NULL, "There is no room for another run.");
}

static int pack(const struct run_spec *spec, const struct run_command *c,
                int fds[WIRE_RUN_FD_COUNT], struct error *e)
{
    int r = payload_pack(c->argv, c->envp, c->code_name, spec->code, spec->code_bytes,
                         &fds[WIRE_RUN_FD_PAYLOAD]);

    if (r < 0)
        return pack_failed(r, spec->code ? "code" : "argv", e);
    r = payload_seal_bytes(spec->stdin_text, spec->stdin_bytes, &fds[WIRE_RUN_FD_STDIN]);
    return r < 0 ? pack_failed(r, "stdin", e) : 0;
}

static int start_failed(int r, struct error *e)
{
    switch (r) {
    case -ENOTCONN:
        return error_set(e, 503, STATUS_INTERNAL, NULL, "sessiond is not there.");
    case -EUSERS:
        return error_set(e, 503, STATUS_BUSY, NULL,
                         "This user has as many runs as leave room for others.");
    case -EIO:
        return error_set(e, 500, STATUS_INTERNAL, NULL, "The audit could not be written.");
    default: /* -EBUSY, and memory or descriptors that come back */
        return error_set(e, 503, STATUS_BUSY, NULL, "There is no room for another run.");
    }
}

static int run_from_spec(struct request *rq, struct run_spec *spec, struct error *e)
{
    __attribute__((cleanup(run_command_done))) struct run_command command = {0};
    int fds[WIRE_RUN_FD_COUNT] = {-1, -1, -1, -1};
    struct run_plan plan = {0};
    int r = make_plan(rq, spec, &plan, e);

    if (r < 0)
        return r;
    if (run_command_make(spec, plan.user.name, &command) < 0)
        return error_set(e, 503, STATUS_BUSY, NULL, "There is no room for another run.");
    plan.program = command.argv[0];
    r = pack(spec, &command, fds, e);
    if (r < 0) {
        cleanup_close_p(&fds[WIRE_RUN_FD_PAYLOAD]);
        return r;
    }
    r = run_start(rq->app->runs, rq, &plan, fds);
    return r < 0 ? start_failed(r, e) : 0;
}

void runs_post(struct request *rq, const json_t *body)
{
    struct run_spec spec;
    struct error e;

    if (run_spec_parse(body, &spec, &e) < 0 || run_from_spec(rq, &spec, &e) < 0)
        request_refuse(rq, &e);
}
