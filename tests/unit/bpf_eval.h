/* SPDX-License-Identifier: ISC */
/* bpf_eval.h - run a seccomp program on a struct seccomp_data, without the kernel. */
#ifndef ATELIER_TEST_BPF_EVAL_H
#define ATELIER_TEST_BPF_EVAL_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* What the program returns; an instruction that seccomp programs do not use aborts the test. */
uint32_t bpf_eval(const struct sock_filter *insns, size_t count, const struct seccomp_data *data);

#endif
