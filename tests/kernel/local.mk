# SPDX-License-Identifier: ISC
# One program for each subject, made on request: `make kernel-programs`. Static, so that they run on
# another kernel without anything else of this host.
kernel_shared = %D%/prove.c %D%/prove.h %D%/prove_tools.c
kernel_ldflags = $(AM_LDFLAGS) -all-static
kernel_programs = \
	%D%/calls %D%/cgroups %D%/creds %D%/files %D%/mounts %D%/net \
	%D%/owner %D%/pidns %D%/shared %D%/status %D%/times \
	%D%/tty %D%/unix
EXTRA_PROGRAMS += $(kernel_programs)
CLEANFILES += $(kernel_programs)
EXTRA_DIST += %D%/run

%C%_calls_SOURCES = %D%/calls.c $(kernel_shared)
%C%_calls_LDFLAGS = $(kernel_ldflags)
%C%_cgroups_SOURCES = %D%/cgroups.c %D%/group.c %D%/group.h $(kernel_shared)
%C%_cgroups_LDFLAGS = $(kernel_ldflags)
%C%_creds_SOURCES = %D%/creds.c $(kernel_shared)
%C%_creds_LDFLAGS = $(kernel_ldflags)
%C%_files_SOURCES = %D%/files.c $(kernel_shared)
%C%_files_LDFLAGS = $(kernel_ldflags)
%C%_mounts_SOURCES = %D%/mounts.c $(kernel_shared)
%C%_mounts_LDFLAGS = $(kernel_ldflags)
%C%_net_SOURCES = %D%/net.c $(kernel_shared)
%C%_net_LDFLAGS = $(kernel_ldflags)
%C%_owner_SOURCES = %D%/owner.c $(kernel_shared)
%C%_owner_LDFLAGS = $(kernel_ldflags)
%C%_pidns_SOURCES = %D%/pidns.c $(kernel_shared)
%C%_pidns_LDFLAGS = $(kernel_ldflags)
%C%_shared_SOURCES = %D%/shared.c $(kernel_shared)
%C%_shared_LDFLAGS = $(kernel_ldflags)
%C%_status_SOURCES = %D%/status.c $(kernel_shared)
%C%_status_LDFLAGS = $(kernel_ldflags)
%C%_times_SOURCES = %D%/times.c $(kernel_shared)
%C%_times_LDFLAGS = $(kernel_ldflags)
%C%_tty_SOURCES = %D%/tty.c $(kernel_shared)
%C%_tty_LDFLAGS = $(kernel_ldflags)
%C%_unix_SOURCES = %D%/unix.c $(kernel_shared)
%C%_unix_LDFLAGS = $(kernel_ldflags)

.PHONY: kernel-programs
kernel-programs: $(kernel_programs)
