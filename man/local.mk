# SPDX-License-Identifier: ISC
dist_man_MANS += \
	%D%/atelier.1 \
	%D%/atelier.conf.5 \
	%D%/atelier-api.7 \
	%D%/atelier-doctor.8 \
	%D%/atelier-setup.8 \
	%D%/atelier-sshd.8 \
	%D%/nss_atelier.8 \
	%D%/pam_atelier.8 \
	%D%/sessiond.8 \
	%D%/sessiond-api.8

# Made from policy/syscalls.def, for the architecture that is built for: not in the archive.
EXTRA_PROGRAMS += %D%/syscalls_page
man_syscalls_page_SOURCES = %D%/syscalls_page.c
man_syscalls_page_LDADD = libpolicy.la
nodist_man_MANS += %D%/atelier-syscalls.7
CLEANFILES += %D%/syscalls_page$(EXEEXT) %D%/atelier-syscalls.7
%D%/atelier-syscalls.7: %D%/syscalls_page$(EXEEXT)
	$(AM_V_GEN)%D%/syscalls_page$(EXEEXT) >$@.new && mv $@.new $@
