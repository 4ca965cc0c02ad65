/* SPDX-License-Identifier: ISC */
/* config_value.c - values of the policy as text: units, bounds, paths. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policy/policy.h"

#include "common/banned.h"

#define FAULT_SIZE 128
#define PAGE_STEP  (64 * POLICY_KI) /* the largest page of any machine that Debian runs on */

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit byte_units[] = {
    {"T", POLICY_TI}, {"G", POLICY_GI}, {"M", POLICY_MI}, {"K", POLICY_KI}};
static const struct unit time_units[] = {{"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1}};
#define UNITS (sizeof(byte_units) / sizeof(byte_units[0]))
_Static_assert(sizeof(time_units) == sizeof(byte_units), "as many of both");

static const struct unit *units_of(enum policy_type type)
{
    switch (type) {
    case POLICY_BYTES:
    case POLICY_KIB:
    case POLICY_RATE:
        return byte_units;
    case POLICY_TIME:
    case POLICY_TIME_CPU:
        return time_units;
    case POLICY_COUNT:
    case POLICY_CPU:
        return NULL;
    }
    return NULL;
}

/* Digits at the start; more than 15 are no number that anybody means. Return: what is behind. */
static const char *digits_take(const char *text, uint64_t *ret_v)
{
    size_t n = strspn(text, "0123456789");
    uint64_t v = 0;

    if (n == 0 || n > 15)
        return NULL;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + (uint64_t)(text[i] - '0');
    *ret_v = v;
    return text + n;
}

static int number_parse(const char *text, uint64_t *ret_v, char *ret_fault)
{
    const char *rest = digits_take(text, ret_v);

    if (rest && *rest == '\0')
        return 0;
    (void)snprintf(ret_fault, FAULT_SIZE, "'%.40s' is not a whole number", text);
    return -EINVAL;
}

/* "1", "0.5", "2.25": two places at most. */
static int cpu_parse(const char *text, uint64_t *ret_v, char *ret_fault)
{
    uint64_t whole, part = 0;
    const char *rest = digits_take(text, &whole);

    if (rest && *rest == '.') {
        size_t n = strlen(rest + 1);
        const char *end = n > 0 && n <= 2 ? digits_take(rest + 1, &part) : NULL;

        if (n == 1)
            part *= 10;
        rest = end;
    }
    if (rest && *rest == '\0' && whole <= UINT32_MAX) {
        *ret_v = whole * 100 + part;
        return 0;
    }
    (void)snprintf(ret_fault, FAULT_SIZE, "'%.40s' is not a number of processors such as 0.5 or 2",
                   text);
    return -EINVAL;
}

static bool can_be_none(enum policy_type type)
{
    return type == POLICY_TIME_CPU || type == POLICY_RATE;
}

static int unit_parse(enum policy_type type, const char *text, uint64_t *ret_v, char *ret_fault)
{
    const struct unit *units = units_of(type);
    const char *rest = digits_take(text, ret_v);

    for (size_t i = 0; rest && i < UNITS; i++) {
        if (strcmp(rest, units[i].name) != 0)
            continue;
        if (__builtin_mul_overflow(*ret_v, units[i].factor, ret_v))
            *ret_v = UINT64_MAX;
        return 0;
    }
    (void)snprintf(ret_fault, FAULT_SIZE, "'%.40s' is not a number with one of the units %s%s",
                   text, units == byte_units ? "K, M, G, T" : "ms, s, min, h",
                   can_be_none(type) ? ", or none" : "");
    return -EINVAL;
}

int policy_time_parse(const char *text, uint64_t least_ms, uint64_t most_ms, uint32_t *ret_ms,
                      char ret_fault[FAULT_SIZE])
{
    char least[POLICY_VALUE_SIZE], most[POLICY_VALUE_SIZE];
    uint64_t v;
    int r = unit_parse(POLICY_TIME, text, &v, ret_fault);

    if (r == 0 && (v < least_ms || v > most_ms)) {
        policy_time_text(least_ms, least);
        policy_time_text(most_ms, most);
        (void)snprintf(ret_fault, FAULT_SIZE, "it must be from %s to %s", least, most);
        r = -EINVAL;
    }
    if (r == 0)
        *ret_ms = (uint32_t)v;
    return r;
}

static int bounds_check(enum policy_key key, uint64_t v, char *ret_fault)
{
    const struct policy_key_info *k = &policy_keys[key];
    char bound[POLICY_VALUE_SIZE];

    if (v < k->least) {
        policy_value_text(key, k->least, bound);
        (void)snprintf(ret_fault, FAULT_SIZE, "less than %s is not possible", bound);
        return -EINVAL;
    }
    if (v > k->most) {
        policy_value_text(key, k->most, bound);
        (void)snprintf(ret_fault, FAULT_SIZE, "more than %s is not possible", bound);
        return -EINVAL;
    }
    if (k->type == POLICY_BYTES && v % PAGE_STEP != 0) {
        (void)snprintf(ret_fault, FAULT_SIZE, "it must be a multiple of 64K");
        return -EINVAL;
    }
    if (k->type == POLICY_TIME_CPU && v % 1000 != 0) {
        (void)snprintf(ret_fault, FAULT_SIZE, "it must be whole seconds");
        return -EINVAL;
    }
    return 0;
}

int policy_value_parse(enum policy_key key, const char *text, uint64_t *ret_value,
                       char ret_fault[FAULT_SIZE])
{
    enum policy_type type = policy_keys[key].type;
    uint64_t v = 0;
    int r = 0;

    switch (type) {
    case POLICY_COUNT:
        r = number_parse(text, &v, ret_fault);
        break;
    case POLICY_CPU:
        r = cpu_parse(text, &v, ret_fault);
        break;
    case POLICY_TIME_CPU:
    case POLICY_RATE:
        if (strcmp(text, "none") == 0) {
            *ret_value = 0;
            return 0;
        }
        r = unit_parse(type, text, &v, ret_fault);
        break;
    case POLICY_BYTES:
    case POLICY_KIB:
    case POLICY_TIME:
        r = unit_parse(type, text, &v, ret_fault);
        break;
    }
    if (r == 0)
        r = bounds_check(key, v, ret_fault);
    if (r == 0)
        *ret_value = v;
    return r;
}

static void units_text(const struct unit *units, uint64_t value, char *ret_text)
{
    for (size_t i = 0; units && i < UNITS; i++) {
        if (value % units[i].factor == 0 && value > 0) {
            (void)snprintf(ret_text, POLICY_VALUE_SIZE, "%" PRIu64 "%s", value / units[i].factor,
                           units[i].name);
            return;
        }
    }
    (void)snprintf(ret_text, POLICY_VALUE_SIZE, "%" PRIu64, value);
}

void policy_value_text(enum policy_key key, uint64_t value, char ret_text[POLICY_VALUE_SIZE])
{
    enum policy_type type = policy_keys[key].type;
    const struct unit *units = units_of(type);

    if (type == POLICY_CPU) {
        size_t n = (size_t)snprintf(ret_text, POLICY_VALUE_SIZE, "%" PRIu64 ".%02" PRIu64,
                                    value / 100, value % 100);

        while (ret_text[n - 1] == '0')
            ret_text[--n] = '\0';
        if (ret_text[n - 1] == '.')
            ret_text[n - 1] = '\0';
        return;
    }
    if (can_be_none(type) && value == 0) {
        (void)snprintf(ret_text, POLICY_VALUE_SIZE, "none");
        return;
    }
    units_text(units, value, ret_text);
}

void policy_limits_text(uint32_t limits, char ret_text[POLICY_LIMITS_SIZE])
{
    size_t n = 0;

    ret_text[0] = '\0';
    for (unsigned i = 0; i < WIRE_LIMIT__COUNT; i++) {
        if ((limits & (1u << i)) != 0)
            n += (size_t)snprintf(ret_text + n, POLICY_LIMITS_SIZE - n, "%s%s", n > 0 ? ", " : "",
                                  policy_limit_names[i]);
    }
}
#define LIMIT_LENGTH(id, key) +sizeof(key) + 1 /* ", ", instead of its NUL */
_Static_assert(WIRE_LIMITS(LIMIT_LENGTH) <= POLICY_LIMITS_SIZE + 1, "all of them fit");
#undef LIMIT_LENGTH

uint32_t policy_limits_of(enum policy_kind kind)
{
    uint32_t limits = 0;

#define LIMIT_KEY(id, key)                                                                         \
    limits |= policy_key_is_of(POLICY_KEY_##id, kind) ? (uint32_t)WIRE_LIMIT_##id : 0u;
    WIRE_LIMITS(LIMIT_KEY)
#undef LIMIT_KEY
    return limits;
}

void policy_time_text(uint64_t ms, char ret_text[POLICY_VALUE_SIZE])
{
    units_text(time_units, ms, ret_text);
}

/* --- trees --------------------------------------------------------------------------------- */

/* Is @path the directory @dir, or below it? */
static bool is_within(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/*
 * Neither one of these nor what has one of these in it. The first are places that the tree makes
 * itself, so that a mount there would uncover what it hides or be hidden by it; the others hold
 * what is not for participants wherever they are.
 */
static const char *const hidden_dirs[] = {"/bin",
                                          "/dev",
                                          "/etc",
                                          "/home",
                                          "/lib",
                                          "/lib32",
                                          "/lib64",
                                          "/libx32",
                                          "/proc",
                                          "/root",
                                          "/run",
                                          "/sbin",
                                          "/skills",
                                          "/sys",
                                          "/tmp",
                                          "/usr",
                                          "/var",
                                          "/boot",
                                          "/efi",
                                          "/lost+found",
                                          "/initrd",
                                          ATELIER_HOMES_DIR,
                                          ATELIER_STATE_DIR,
                                          ATELIER_RUN_DIR,
                                          ATELIER_PROGRAMS_DIR};

const char *policy_tree_fault(const char *path)
{
    size_t len = strlen(path);

    if (path[0] != '/')
        return "it must be an absolute path";
    if (len >= POLICY_TREE_SIZE)
        return "the path is too long";
    for (const char *at = path; *at; at++) {
        /* Printable ASCII that needs no quoting, in messages and in mountinfo. */
        if (*at <= ' ' || *at > '~' || strchr("\"'\\$", *at))
            return "the path has a character that is not possible here";
    }
    if (len == 1)
        return "the whole host cannot be shown";
    for (const char *at = path; at; at = strchr(at + 1, '/')) {
        size_t n = strcspn(at + 1, "/");

        if (n == 0 || (n == 1 && at[1] == '.') || (n == 2 && at[1] == '.' && at[2] == '.'))
            return "the path must be plain: no . or .. and no slash too many";
    }
    for (size_t i = 0; i < sizeof(hidden_dirs) / sizeof(hidden_dirs[0]); i++) {
        if (is_within(path, hidden_dirs[i]) || is_within(hidden_dirs[i], path))
            return "that part of the host is not for participants, or is there already";
    }
    return NULL;
}
