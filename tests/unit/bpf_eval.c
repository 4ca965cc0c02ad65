/* SPDX-License-Identifier: ISC */
/* bpf_eval.c - the part of classic BPF that libseccomp emits (kernel/seccomp.c, net/core/filter.c).
 */
#include "tests/unit/bpf_eval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/banned.h"

static _Noreturn void give_up(size_t pc, unsigned int code)
{
    (void)fprintf(stderr, "bpf_eval: instruction %zu, code 0x%x\n", pc, code);
    abort();
}

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
    uint32_t word;

    if (offset % 4 || offset > sizeof(*data) - 4)
        give_up(offset, BPF_LD);
    memcpy(&word, (const char *)data + offset, sizeof(word));
    return word;
}

static int jump_holds(unsigned int code, uint32_t a, uint32_t k)
{
    switch (BPF_OP(code)) {
    case BPF_JEQ:
        return a == k;
    case BPF_JGT:
        return a > k;
    case BPF_JGE:
        return a >= k;
    case BPF_JSET:
        return (a & k) != 0;
    default:
        give_up(0, code);
    }
}

uint32_t bpf_eval(const struct sock_filter *insns, size_t count, const struct seccomp_data *data)
{
    uint32_t a = 0;

    for (size_t pc = 0; pc < count; pc++) {
        const struct sock_filter *i = &insns[pc];

        if (i->code == (BPF_LD | BPF_W | BPF_ABS))
            a = load(data, i->k);
        else if (i->code == (BPF_ALU | BPF_AND | BPF_K))
            a &= i->k;
        else if (i->code == (BPF_RET | BPF_K))
            return i->k;
        else if (i->code == (BPF_JMP | BPF_JA))
            pc += i->k;
        else if (BPF_CLASS(i->code) == BPF_JMP && BPF_SRC(i->code) == BPF_K)
            pc += jump_holds(i->code, a, i->k) ? i->jt : i->jf;
        else
            give_up(pc, i->code);
    }
    give_up(count, 0);
}
