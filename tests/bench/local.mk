# SPDX-License-Identifier: ISC
# Programs of tests/bench/nss, built when it asks for them.
EXTRA_PROGRAMS += bench_nss_rounds bench_nss_publish
CLEANFILES += bench_nss_rounds bench_nss_publish
bench_nss_rounds_SOURCES = %D%/nss_rounds.c %D%/nss_lookup.c %D%/nss_lookup.h
bench_nss_publish_SOURCES = %D%/nss_publish.c
bench_nss_publish_LDADD = libregistry.la libcommon.la

# Of tests/bench/net.
EXTRA_PROGRAMS += bench_net_rounds
CLEANFILES += bench_net_rounds
bench_net_rounds_SOURCES = %D%/net_rounds.c
bench_net_rounds_LDADD = libpolicy.la libcommon.la
