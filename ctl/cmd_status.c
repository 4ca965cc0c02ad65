/* SPDX-License-Identifier: ISC */
/* cmd_status.c - atelier status */
#include <stdint.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/answer.h"
#include "ctl/cmd.h"
#include "ctl/say.h"
#include "ctl/table.h"

#include "common/banned.h"

static const char doc[] =
    "Say whether the service is well: sessiond is there, and the network rules were proven to "
    "hold.\vExit status: 0 well, 1 degraded, 69 when sessiond-api cannot be reached.";

/* Members of healthz in the order of the API; what is missing is an error. */
struct health {
    const char *status, *version, *canary, *canary_what, *cgroup_mode, *disk, *disk_what;
    int sessiond, disk_required;
    json_t *canary_age, *canary_cost, *net_connections;
    const char *memory, *pids, *cpu; /* who keeps the limit */
    json_t *names, *required;        /* or NULL */
    const json_t *whole;             /* borrowed */
    int net_group;
    json_int_t net_revision, runs, users, groups, ids_free, generation;
};

static int health_read(json_t *json, struct health *ret_h, json_error_t *ret_error)
{
    return json_unpack_ex(
        json, ret_error, 0,
        "{s:s, s:s, s:b, s:s, s:s, s:o, s:o, s:I, s:s, s:{s:s, s:s, s:s}, s:s, "
        "s:b, s:s, s:I, s:I, s:I, s:I, s:I, "
        "s:o, s?b, s?o, s?o}",
        "status", &ret_h->status, "version", &ret_h->version, "sessiond", &ret_h->sessiond,
        "canary", &ret_h->canary, "canary_what", &ret_h->canary_what, "canary_age_ms",
        &ret_h->canary_age, "canary_cost", &ret_h->canary_cost, "net_revision",
        &ret_h->net_revision, "cgroup_mode", &ret_h->cgroup_mode, "limits", "memory",
        &ret_h->memory, "pids", &ret_h->pids, "cpu", &ret_h->cpu, "disk", &ret_h->disk,
        "disk_required", &ret_h->disk_required, "disk_what", &ret_h->disk_what, "runs",
        &ret_h->runs, "users", &ret_h->users, "groups", &ret_h->groups, "ids_free",
        &ret_h->ids_free, "generation", &ret_h->generation, "net_connections",
        &ret_h->net_connections, "net_group", &ret_h->net_group, "names", &ret_h->names,
        "limits_required", &ret_h->required);
}

static json_int_t number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* What the canary costs: a round, and each of those who asked. */
static void cost_add(struct table *t, const json_t *cost)
{
    json_int_t rounds = number_of(cost, "rounds"), asked = number_of(cost, "asked");
    json_int_t cpu_us = number_of(cost, "cpu_probe_us") + number_of(cost, "cpu_listener_us") +
                        number_of(cost, "cpu_sessiond_us");

    if (rounds == 0 || asked == 0)
        return;
    table_add(t, "canary's cost");
    table_addf(t,
               "%" JSON_INTEGER_FORMAT " for %" JSON_INTEGER_FORMAT " questions; %.2f ms each, of "
               "the processor %.2f ms; %.3f ms a question",
               rounds, asked, (double)number_of(cost, "wall_us") / 1000 / (double)rounds,
               (double)cpu_us / 1000 / (double)rounds, (double)cpu_us / 1000 / (double)asked);
}

/* Those that the policy lets through, if there are any. */
static void names_add(struct table *t, const json_t *names)
{
    if (number_of(names, "listed") == 0)
        return;
    table_add(t, "listed names");
    table_addf(t,
               "%" JSON_INTEGER_FORMAT ", without an answer %" JSON_INTEGER_FORMAT
               ", with a refused address %" JSON_INTEGER_FORMAT,
               number_of(names, "listed"), number_of(names, "unanswered"),
               number_of(names, "refused"));
}

/* What the policy requires, and what of it no control group keeps. */
static void required_add(struct table *t, const struct health *h)
{
    cleanup_json json_t *unmet = limits_unmet(h->whole);
    cleanup_free char *all = json_join(h->required), *bad = json_join(unmet);

    if (json_array_size(h->required) == 0)
        return;
    table_add(t, "required");
    if (json_array_size(unmet) == 0)
        table_add(t, all);
    else
        table_addf(t,
                   "%s; not kept by control groups: %s, and nothing starts for whom it is required",
                   all, bad);
}

/* What sessiond alone knows: without it the members have no meaning. */
static void sessiond_add(struct table *t, const struct health *h)
{
    table_add(t, "canary");
    table_addf(t, "%s%s%s", h->canary, h->canary_what[0] ? " " : "", h->canary_what);
    table_add(t, "last held");
    /* sessiond says UINT32_MAX if the rules were never seen to hold. */
    if (json_is_integer(h->canary_age) && json_integer_value(h->canary_age) < UINT32_MAX)
        table_addf(t, "%" JSON_INTEGER_FORMAT " ms ago", json_integer_value(h->canary_age));
    else if (strcmp(h->canary, "unknown") == 0)
        table_add(t, "not asked since the rules were loaded; the next start asks");
    else
        table_add(t, "never since the rules were loaded");
    cost_add(t, h->canary_cost);
    table_add(t, "network rules");
    table_addf(t, "revision %" JSON_INTEGER_FORMAT "%s", h->net_revision,
               h->net_group ? ", by user and control group" : ", by user");
    names_add(t, h->names);
    table_add(t, "connections");
    if (json_is_integer(h->net_connections))
        table_addf(t, "%" JSON_INTEGER_FORMAT " of one user at most",
                   json_integer_value(h->net_connections));
    else
        table_add(t, "neither counted nor limited by user");
    table_add(t, "cgroups");
    table_add(t, h->cgroup_mode);
    table_add(t, "limits kept by");
    table_addf(t, "memory %s, processes %s, processors %s", h->memory, h->pids, h->cpu);
    required_add(t, h);
    table_add(t, "disk limits");
    table_addf(t, "%s%s%s%s", h->disk, h->disk_required ? ", required" : "",
               h->disk_what[0] ? ": " : "", h->disk_what);
}

static void health_print(const struct health *h)
{
    cleanup_table struct table *t = table_new(2);

    table_add(t, "status");
    table_add(t, h->status);
    table_add(t, "version");
    table_add(t, h->version);
    table_add(t, "sessiond");
    table_add(t, h->sessiond ? "connected" : "not connected");
    if (h->sessiond)
        sessiond_add(t, h);
    table_add(t, "runs");
    table_addf(t, "%" JSON_INTEGER_FORMAT, h->runs);
    table_add(t, "users");
    table_addf(t, "%" JSON_INTEGER_FORMAT, h->users);
    table_add(t, "groups");
    table_addf(t, "%" JSON_INTEGER_FORMAT, h->groups);
    table_add(t, "free ids");
    table_addf(t, "%" JSON_INTEGER_FORMAT, h->ids_free);
    table_add(t, "generation");
    table_addf(t, "%" JSON_INTEGER_FORMAT, h->generation);
    table_print(t, stdout);
}

int cmd_status(struct options *opt, int argc, char **argv)
{
    cleanup_answer struct answer a = {0};
    struct health h = {0};
    json_error_t error;
    int code;

    if (args_parse_operand(opt, argc, argv, 0, NULL, doc, NULL) < 0)
        return CTL_USAGE;
    code = answer_fetch(opt, "GET", "/v1/healthz", NULL, &a);
    if (code != CTL_OK)
        return code;
    /* A degraded service answers 503 with the same object; other errors have another one. */
    if (!json_object_get(a.json, "canary")) {
        code = answer_judge(opt, &a);
        if (code == CTL_OK)
            code = answer_is_strange("there is no canary in it");
        return code;
    }
    if (health_read(a.json, &h, &error) < 0)
        return answer_is_strange(error.text);
    h.whole = a.json;
    if (opt->json)
        json_print_line(a.json);
    else
        health_print(&h);
    return a.http == 200 && strcmp(h.status, "ok") == 0 ? CTL_OK : CTL_NO;
}
