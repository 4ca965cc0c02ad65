/* SPDX-License-Identifier: ISC */
/* run_spec.c - the body of POST /v1/runs. */
#include "sessiond/api/run_spec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ids.h"
#include "common/payload.h"
#include "common/str.h"
#include "common/wire.h"
#include "policy/policy.h"
#include "sessiond/api/json_in.h"
#include "sessiond/api/limits.h"
#include "sessiond/api/value.h"

#include "common/banned.h"

/* How source text of a language is run. The file is in HOME. */
struct preset {
    const char *lang;
    const char *program;
    const char *option; /* or NULL */
    const char *file;
};

static const struct preset presets[] = {
    {"python3", "/usr/bin/python3", "-u", "main.py"},
    {"bash", "/bin/bash", NULL, "main.bash"},
    {"sh", "/bin/sh", NULL, "main.sh"},
    {"node", "/usr/bin/node", NULL, "main.js"},
};

/* Program, option and file of a preset come out of the same bound. */
#define PRESET_ARGC_MAX 3u

/* Variables of ours; the caller may replace those that say nothing about who or where. */
#define ENV_OURS 6u
static const char *const env_fixed[] = {"HOME", "USER", "LOGNAME", "PATH", "SHELL", NULL};

static int parse_user(const json_t *body, struct run_spec *s, struct error *e)
{
    const json_t *v = json_object_get(body, "user");

    if (!v)
        return error_field(e, "user", "user is missing.");
    if (json_is_string(v) && name_is_valid(json_string_value(v))) {
        s->user_name = json_string_value(v);
        return 0;
    }
    if (json_is_integer(v) && json_integer_value(v) >= ID_ALLOC_MIN &&
        json_integer_value(v) <= ID_ALLOC_MAX) {
        s->user_uid = (uint32_t)json_integer_value(v);
        return 0;
    }
    if (!json_is_string(v) && !json_is_integer(v))
        return error_field(e, "user", "user must be a name or a uid.");
    return error_set(e, 404, STATUS_UNKNOWN_USER, "user", "There is no user %s.", VALUE_JSON(v));
}

static const struct preset *preset_find(const char *lang)
{
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
        if (strcmp(presets[i].lang, lang) == 0)
            return &presets[i];
    }
    return NULL;
}

/* Either a whole command in argv, or source text in a language with more arguments in argv. */
static int parse_program(const struct json_in *in, struct run_spec *s)
{
    const char *lang = NULL;
    const json_t *code = json_object_get(in->obj, "code");
    int r;

    r = json_in_string(in, "lang", 32, &lang);
    if (r == 0)
        r = json_in_strings(in, "argv", PAYLOAD_ARGC_MAX - PRESET_ARGC_MAX, &s->argv);
    if (r < 0)
        return r;
    if (code && !json_is_string(code))
        return error_field(in->e, "code", "code must be a string.");
    if (lang) {
        s->preset = preset_find(lang);
        if (!s->preset)
            return error_field(in->e, "lang", "lang must be python3, bash, sh or node.");
        if (!code)
            return error_field(in->e, "code", "code is missing: it goes with lang.");
        s->code = json_string_value(code);
        s->code_bytes = json_string_length(code);
        return 0;
    }
    if (code)
        return error_field(in->e, "lang", "lang is missing: it goes with code.");
    if (!s->argv)
        return error_field(in->e, "argv", "argv is missing, and there is no lang either.");
    if (json_array_size(s->argv) == 0)
        return error_field(in->e, "argv", "argv must not be empty.");
    if (json_string_value(json_array_get(s->argv, 0))[0] != '/')
        return error_field(in->e, "argv[0]", "argv[0] must be an absolute path.");
    return 0;
}

/* [A-Za-z_][A-Za-z0-9_]* */
static bool env_name_is_valid(const char *name)
{
    for (size_t i = 0; name[i]; i++) {
        char c = name[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!is_letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return name[0] != '\0';
}

static bool env_name_is_fixed(const char *name)
{
    for (size_t i = 0; env_fixed[i]; i++) {
        if (strcmp(name, env_fixed[i]) == 0)
            return true;
    }
    return false;
}

static json_t *unconst(const json_t *v)
{
    return (json_t *)(uintptr_t)v; /* jansson's iterators do not change it. */
}

static int parse_env(const struct json_in *in, struct run_spec *s)
{
    char field[ERROR_FIELD_SIZE];
    const char *name;
    json_t *value;
    int r;

    r = json_in_object(in, "env", &s->env);
    if (r < 0 || !s->env)
        return r;
    if (json_object_size(s->env) > PAYLOAD_ENVC_MAX - ENV_OURS)
        return error_field(in->e, "env", "env has too many entries.");
    json_object_foreach(unconst(s->env), name, value)
    {
        (void)snprintf(field, sizeof(field), "env.%s", name);
        if (!env_name_is_valid(name))
            return error_field(in->e, field, "This is not a name of a variable.");
        if (env_name_is_fixed(name))
            return error_field(in->e, field, "%s is set by atelier.", name);
        if (!json_is_string(value))
            return error_field(in->e, field, "%s must be a string.", field);
    }
    return 0;
}

static int parse_net(const struct json_in *in, struct run_spec *s)
{
    const char *net = "none";
    int r = json_in_string(in, "net", 16, &net);

    if (r < 0)
        return r;
    s->net_public = strcmp(net, "public") == 0;
    if (!s->net_public && strcmp(net, "none") != 0)
        return error_field(in->e, "net", "net must be none or public.");
    return 0;
}

/* Names of limits that a control group has to keep. */
static int parse_required(const struct json_in *in, struct run_spec *s)
{
    static const char *const names[WIRE_LIMIT__COUNT] = {
#define LIMIT_NAME(id, key) [WIRE_LIMIT_BIT_##id] = key,
        WIRE_LIMITS(LIMIT_NAME)
#undef LIMIT_NAME
    };
    const json_t *list = NULL, *one;
    int r = json_in_strings(in, "required", WIRE_LIMIT__COUNT, &list);
    size_t n;

    json_array_foreach(list, n, one)
    {
        unsigned i = 0;

        while (i < WIRE_LIMIT__COUNT && strcmp(json_string_value(one), names[i]) != 0)
            i++;
        if (i == WIRE_LIMIT__COUNT)
            return error_field(in->e, "limits.required",
                               "limits.required names memory, pids or cpu.");
        s->limits_required |= 1u << i;
    }
    return r;
}

static int parse_limits(const struct json_in *in, struct run_spec *s)
{
    static const char *const keys[] = {"wall_ms", "cpu_ms", "out_kb", "required", NULL};
    struct json_in limits = {.prefix = "limits.", .e = in->e};
    int r;

    r = json_in_object(in, "limits", &limits.obj);
    if (r < 0 || !limits.obj)
        return r;
    r = json_in_only(&limits, keys);
    if (r == 0)
        r = json_in_u32(&limits, "wall_ms", 1, (uint32_t)policy_keys[POLICY_KEY_WALL_MAX].most,
                        &s->wall_ms);
    if (r == 0)
        r = json_in_u32(&limits, "cpu_ms", 1, (uint32_t)policy_keys[POLICY_KEY_CPU_TIME_MAX].most,
                        &s->cpu_ms);
    if (r == 0)
        r = json_in_u32(&limits, "out_kb", 1,
                        (uint32_t)(policy_keys[POLICY_KEY_OUTPUT_MAX].most / POLICY_KI),
                        &s->out_kb);
    return r == 0 ? parse_required(&limits, s) : r;
}

/* One limit: what is given, or what the profile says. A maximum of 0 is none. */
static int limit_take(const char *field, uint32_t shipped, uint32_t max, uint32_t *value,
                      struct error *e)
{
    if (*value == 0)
        *value = shipped;
    if (*value <= max || max == 0)
        return 0;
    return error_field(e, field, "%s must be from 1 to %u.", field, max);
}

int run_spec_limit(struct run_spec *spec, const struct limits *limits, struct error *e)
{
    int r = limit_take("limits.wall_ms", limits->wall_ms, limits->wall_ms_max, &spec->wall_ms, e);

    if (r == 0)
        r = limit_take("limits.cpu_ms", limits->cpu_ms, limits->cpu_ms_max, &spec->cpu_ms, e);
    if (r < 0)
        return r;
    return limit_take("limits.out_kb", limits->out_kb, limits->out_kb_max, &spec->out_kb, e);
}

static int parse_stdin(const struct json_in *in, struct run_spec *s)
{
    const json_t *v = json_object_get(in->obj, "stdin");

    if (!v)
        return 0;
    if (!json_is_string(v))
        return error_field(in->e, "stdin", "stdin must be a string.");
    s->stdin_text = json_string_value(v);
    s->stdin_bytes = json_string_length(v);
    return 0;
}

int run_spec_parse(const json_t *body, struct run_spec *ret_spec, struct error *e)
{
    static const char *const keys[] = {"user", "argv",  "lang",   "code", "env",
                                       "net",  "stdin", "limits", NULL};
    const struct json_in in = {.obj = body, .prefix = "", .e = e};
    struct run_spec s = {0};
    int r;

    r = json_in_only(&in, keys);
    if (r == 0)
        r = parse_program(&in, &s);
    if (r == 0)
        r = parse_env(&in, &s);
    if (r == 0)
        r = parse_stdin(&in, &s);
    if (r == 0)
        r = parse_net(&in, &s);
    if (r == 0)
        r = parse_limits(&in, &s);
    /* Last, so that a request that is wrong in itself does not say who exists. */
    if (r == 0)
        r = parse_user(body, &s, e);
    if (r < 0)
        return r;
    *ret_spec = s;
    return 0;
}

/* Strings are owned; the vector has room for all of them and the NULL. */
static int push(char **v, size_t *n, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int push(char **v, size_t *n, const char *format, ...)
{
    va_list ap;
    int len;

    va_start(ap, format);
    len = vasprintf(&v[*n], format, ap);
    va_end(ap);
    if (len < 0) {
        v[*n] = NULL;
        return -ENOMEM;
    }
    (*n)++;
    return 0;
}

static int argv_make(const struct run_spec *s, const char *user, char ***ret_v)
{
    size_t count = s->argv ? json_array_size(s->argv) : 0, n = 0;
    char **v = calloc(count + PRESET_ARGC_MAX + 1, sizeof(*v));
    int r = 0;

    if (!v)
        return -ENOMEM;
    *ret_v = v;
    if (s->preset) {
        r = push(v, &n, "%s", s->preset->program);
        if (r == 0 && s->preset->option)
            r = push(v, &n, "%s", s->preset->option);
        if (r == 0)
            r = push(v, &n, "%s/%s/%s", ATELIER_HOMES_DIR, user, s->preset->file);
    }
    for (size_t i = 0; i < count && r == 0; i++)
        r = push(v, &n, "%s", json_string_value(json_array_get(s->argv, i)));
    return r;
}

static int envp_make(const struct run_spec *s, const char *user, char ***ret_v)
{
    size_t count = s->env ? json_object_size(s->env) : 0, n = 0;
    char **v = calloc(count + ENV_OURS + 1, sizeof(*v));
    const char *name;
    json_t *value;
    int r;

    if (!v)
        return -ENOMEM;
    *ret_v = v;
    r = push(v, &n, "HOME=%s/%s", ATELIER_HOMES_DIR, user);
    if (r == 0)
        r = push(v, &n, "USER=%s", user);
    if (r == 0)
        r = push(v, &n, "LOGNAME=%s", user);
    if (r == 0)
        r = push(v, &n, "PATH=/usr/local/bin:/usr/bin:/bin");
    if (r == 0 && !json_object_get(s->env, "LANG"))
        r = push(v, &n, "LANG=C.UTF-8");
    if (r == 0 && !json_object_get(s->env, "TERM"))
        r = push(v, &n, "TERM=dumb");
    json_object_foreach(unconst(s->env), name, value)
    {
        if (r == 0)
            r = push(v, &n, "%s=%s", name, json_string_value(value));
    }
    return r;
}

int run_command_make(const struct run_spec *spec, const char *user, struct run_command *ret_c)
{
    struct run_command c = {.code_name = spec->preset ? spec->preset->file : NULL};
    int r;

    r = argv_make(spec, user, &c.argv);
    if (r == 0)
        r = envp_make(spec, user, &c.envp);
    if (r < 0) {
        run_command_done(&c);
        return r;
    }
    *ret_c = c;
    return 0;
}

static void strings_free(char **v)
{
    for (size_t i = 0; v && v[i]; i++)
        free(v[i]);
    free(v);
}

void run_command_done(struct run_command *c)
{
    strings_free(c->argv);
    strings_free(c->envp);
    *c = (struct run_command){0};
}
