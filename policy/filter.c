/* SPDX-License-Identifier: ISC */
/*
 * filter.c - from syscalls.def to a program for seccomp(2).
 *
 * Two rules keep libseccomp 2.5.4 honest. Only masked-equal comparisons, and "not 0" for an
 * argument that nothing else is asked of: it miscompiles unlike operators on one argument. And the
 * table may hold ranges, but each value becomes a rule of its own. tests/unit/test_filter.c runs
 * the program over every value that matters and compares the answers with the table.
 *
 * A deny-list, because an allow-list breaks numpy, the next glibc and the next Python. What makes
 * that bearable: unknown numbers are refused, and everything that matters is also refused by
 * something else (no capabilities, namespaces, owner rules).
 */
#include "policy/filter.h"

#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"

#include "common/banned.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "the argument positions in syscalls.def were checked for x86_64 and aarch64 only"
#endif

#define RUN   FILTER_IN(FILTER_RUN)
#define LOGIN FILTER_IN(FILTER_LOGIN)
#define ALL   (RUN | LOGIN)

#define FIELD(a, m, f, l)                                                                          \
    {                                                                                              \
        .arg = (a), .mask = (m), .first = (f), .last = (l)                                         \
    }
#define INT(a, f, l) FIELD(a, 0xffffffffu, f, l)
#define BITS(a, b)   FIELD(a, b, b, b)
#define POINTER(a)                                                                                 \
    {                                                                                              \
        .arg = (a), .mask = UINT64_MAX, .is_nonzero = true                                         \
    }
#define ALWAYS      .cmp_count = 0
#define WHEN(c)     .cmp_count = 1, .cmp = {c}
#define WHEN2(c, d) .cmp_count = 2, .cmp = {c, d}

#define CALL(who, call, cond, err, why, from)                                                      \
    {.profiles = (who),                                                                            \
     .name = #call,                                                                                \
     .nr_first = SCMP_SYS(call),                                                                   \
     .nr_last = SCMP_SYS(call),                                                                    \
     cond,                                                                                         \
     .error = (err),                                                                               \
     .reason = (why),                                                                              \
     .source = (from)},
#define NUMBER(who, call, from_nr, to_nr, err, why, from)                                          \
    {.profiles = (who),                                                                            \
     .name = (call),                                                                               \
     .nr_first = (from_nr),                                                                        \
     .nr_last = (to_nr),                                                                           \
     .error = (err),                                                                               \
     .reason = (why),                                                                              \
     .source = (from)},

static const struct filter_rule rules[] = {
#include "policy/syscalls.def"
};

const struct filter_rule *filter_rule_get(size_t i)
{
    return i < sizeof(rules) / sizeof(rules[0]) ? &rules[i] : NULL;
}

static struct scmp_arg_cmp cmp_make(const struct filter_cmp *c, uint32_t value)
{
    if (c->is_nonzero)
        return (struct scmp_arg_cmp){.arg = c->arg, .op = SCMP_CMP_NE, .datum_a = 0};
    return (struct scmp_arg_cmp){
        .arg = c->arg, .op = SCMP_CMP_MASKED_EQ, .datum_a = c->mask, .datum_b = value};
}

/* Every pair of values that the conditions allow becomes one rule. */
static int call_deny(scmp_filter_ctx ctx, const struct filter_rule *r, int nr)
{
    uint32_t action = SCMP_ACT_ERRNO((uint32_t)r->error);
    const struct filter_cmp *a = &r->cmp[0], *b = &r->cmp[1];
    int err = 0;

    if (r->cmp_count == 0)
        return seccomp_rule_add_exact_array(ctx, action, nr, 0, NULL);
    for (uint32_t x = a->first; x <= a->last && err == 0; x++) {
        struct scmp_arg_cmp cmp[FILTER_CMP_MAX] = {cmp_make(a, x)};

        if (r->cmp_count == 1) {
            err = seccomp_rule_add_exact_array(ctx, action, nr, 1, cmp);
            continue;
        }
        for (uint32_t y = b->first; y <= b->last && err == 0; y++) {
            cmp[1] = cmp_make(b, y);
            err = seccomp_rule_add_exact_array(ctx, action, nr, 2, cmp);
        }
    }
    return err;
}

static int filter_fill(scmp_filter_ctx ctx, enum filter_profile profile)
{
    const struct filter_rule *r;
    int err;

    /* The caller sets no_new_privs itself, where the receipt can see a failure. */
    err = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_NNP, 0);
    if (err < 0)
        return err;
    /* i386 and x32 calls: libseccomp's default kills, and programs that probe would die. */
    err = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
    if (err < 0)
        return err;
    /* A binary search: installing costs with the length of the average path. */
    err = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (err < 0)
        return err;
    for (size_t i = 0; (r = filter_rule_get(i)); i++) {
        if (!(r->profiles & FILTER_IN(profile)))
            continue;
        /* Negative: this architecture never had the call. */
        for (int nr = r->nr_first; nr >= 0 && nr <= r->nr_last; nr++) {
            err = call_deny(ctx, r, nr);
            if (err < 0)
                return err;
        }
    }
    return 0;
}

/* libseccomp 2.5 exports to a descriptor and nowhere else. */
static int filter_export(scmp_filter_ctx ctx, struct sock_filter **ret_insns, size_t *ret_count)
{
    cleanup_close int fd = memfd_create("filter", MFD_CLOEXEC);
    cleanup_free struct sock_filter *insns = NULL;
    struct stat st;
    size_t size, got;
    int err;

    if (fd < 0)
        return -errno;
    err = seccomp_export_bpf(ctx, fd);
    if (err < 0)
        return err;
    if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    size = (size_t)st.st_size;
    if (size == 0 || size % sizeof(*insns) || size / sizeof(*insns) > BPF_MAXINSNS)
        return -EBADMSG;
    insns = malloc(size);
    if (!insns)
        return -ENOMEM;
    err = fd_read_full(fd, insns, size, &got);
    if (err < 0)
        return err;
    if (got != size)
        return -EBADMSG;
    *ret_insns = insns;
    *ret_count = size / sizeof(*insns);
    insns = NULL;
    return 0;
}

int filter_build(enum filter_profile profile, struct sock_filter **ret_insns, size_t *ret_count)
{
    scmp_filter_ctx ctx;
    int err;

    if (profile != FILTER_RUN && profile != FILTER_LOGIN)
        return -EINVAL;
    ctx = seccomp_init(SCMP_ACT_ALLOW);
    if (!ctx)
        return -ENOMEM;
    err = filter_fill(ctx, profile);
    if (err == 0)
        err = filter_export(ctx, ret_insns, ret_count);
    seccomp_release(ctx);
    return err;
}
