# SPDX-License-Identifier: ISC
bin_PROGRAMS += atelier
# Everything but main(), so that the unit tests can link it.
noinst_LTLIBRARIES += libctl.la
libctl_la_SOURCES = \
	%D%/adopt.c %D%/adopt.h \
	%D%/adopt_account.c %D%/adopt_account.h \
	%D%/adopt_home.c %D%/adopt_home.h \
	%D%/adopt_record.c %D%/adopt_record.h \
	%D%/answer.c %D%/answer.h \
	%D%/args.c %D%/args.h \
	%D%/backup_file.c %D%/backup_file.h \
	%D%/client.c %D%/client.h \
	%D%/cmd.h \
	%D%/cmd_adopt.c \
	%D%/cmd_backup.c \
	%D%/cmd_restore.c \
	%D%/restore.c %D%/restore.h \
	%D%/cmd_caller.c \
	%D%/cmd_doctor.c \
	%D%/cmd_group.c \
	%D%/cmd_group_mod.c \
	%D%/cmd_index.c \
	%D%/cmd_invite.c \
	%D%/cmd_link.c \
	%D%/cmd_net.c \
	%D%/cmd_policy.c \
	%D%/cmd_run.c \
	%D%/cmd_session.c \
	%D%/cmd_setup.c \
	%D%/cmd_skill.c \
	%D%/cmd_status.c \
	%D%/cmd_su.c \
	%D%/cmd_user.c \
	%D%/cmd_user_add.c \
	%D%/cmd_user_del.c \
	%D%/cmd_user_image.c \
	%D%/cmd_user_mod.c \
	%D%/cmd_user_state.c \
	%D%/confirm.c %D%/confirm.h \
	%D%/csv.c %D%/csv.h \
	%D%/del_args.c %D%/del_args.h \
	%D%/disk_text.c %D%/disk_text.h \
	%D%/doctor/attack_isolation.c \
	%D%/doctor/attack_jobs.c \
	%D%/doctor/attack_net.c \
	%D%/doctor/attack_receipt.c \
	%D%/doctor/attack_six.c \
	%D%/doctor/attempts.c %D%/doctor/attempts.h \
	%D%/doctor/bait.c %D%/doctor/bait.h \
	%D%/doctor/bait_socket.c %D%/doctor/bait_socket.h \
	%D%/doctor/checks.c %D%/doctor/checks.h %D%/doctor/checks.def \
	%D%/doctor/doctor.c %D%/doctor/doctor.h \
	%D%/doctor/facts.c %D%/doctor/facts.h \
	%D%/doctor/host_doors.c \
	%D%/doctor/host_files.c \
	%D%/doctor/host_ids.c \
	%D%/doctor/host_jobs.c %D%/doctor/jobs.h \
	%D%/doctor/host_kernel.c \
	%D%/doctor/host_neighbours.c \
	%D%/doctor/host_nss.c \
	%D%/doctor/host_state.c \
	%D%/doctor/network_rules.c \
	%D%/doctor/judge.c %D%/doctor/judge.h \
	%D%/doctor/probe.c %D%/doctor/probe.h %D%/doctor/probe_host.h \
	%D%/doctor/probe_join.c %D%/doctor/probe_join.h \
	%D%/doctor/probe_local.c \
	%D%/doctor/said.c %D%/doctor/said.h \
	%D%/doctor/report.c %D%/doctor/report.h \
	%D%/doctor/service_policy.c \
	%D%/doctor/service_running.c \
	%D%/doctor/sweep.c %D%/doctor/sweep.h \
	%D%/event.c %D%/event.h \
	%D%/exit.c %D%/exit.h \
	%D%/files_elsewhere.c %D%/files_elsewhere.h \
	%D%/home_archive.c %D%/home_archive.h \
	%D%/home_convert.c %D%/home_convert.h \
	%D%/home_image.c %D%/home_image.h \
	%D%/home_size.c %D%/home_size.h \
	%D%/import.c %D%/import.h \
	%D%/index_compare.c %D%/index_compare.h \
	%D%/index_verify.c %D%/index_verify.h \
	%D%/list.c %D%/list.h \
	%D%/local_groups.c %D%/local_groups.h \
	%D%/minted.c %D%/minted.h \
	%D%/named.c %D%/named.h \
	%D%/policy_disk.c %D%/policy_disk.h \
	%D%/roster.c %D%/roster.h \
	%D%/run_args.c %D%/run_args.h \
	%D%/say.c %D%/say.h \
	%D%/setup/accounts.c %D%/setup/accounts.h \
	%D%/setup/diff.c %D%/setup/diff.h \
	%D%/setup/edit.c \
	%D%/setup/file.c %D%/setup/file.h \
	%D%/setup/host.c %D%/setup/host.h \
	%D%/setup/ids.c %D%/setup/ids.h \
	%D%/setup/keys.c %D%/setup/keys.h \
	%D%/setup/limits.h \
	%D%/setup/nftables.c %D%/setup/nftables.h \
	%D%/setup/nsswitch.c %D%/setup/nsswitch.h \
	%D%/setup/pam.c %D%/setup/pam.h \
	%D%/setup/processes.c %D%/setup/processes.h \
	%D%/setup/program.c %D%/setup/program.h \
	%D%/setup/record.c %D%/setup/record.h \
	%D%/setup/resolvers.c %D%/setup/resolvers.h \
	%D%/setup/setup.c %D%/setup/setup.h \
	%D%/setup/sshd.c %D%/setup/sshd.h \
	%D%/setup/step_accounts.c \
	%D%/setup/step_files.c \
	%D%/setup/step_firewall.c \
	%D%/setup/step_host.c \
	%D%/setup/step_ids.c \
	%D%/setup/step_keys.c \
	%D%/setup/step_options.c \
	%D%/setup/step_pam.c \
	%D%/setup/step_services.c \
	%D%/setup/step_sshd.c \
	%D%/setup/step_user_manager.c \
	%D%/setup/text.c %D%/setup/text.h \
	%D%/setup/traces.c %D%/setup/traces.h \
	%D%/setup/units.c %D%/setup/units.h \
	%D%/setup/whole.c %D%/setup/whole.h \
	%D%/setup/complaint.h \
	%D%/setup/step.h \
	%D%/skill_store.c %D%/skill_store.h \
	%D%/skill_tree.c %D%/skill_tree.h \
	%D%/skill_use.c %D%/skill_use.h \
	%D%/su_args.c %D%/su_args.h \
	%D%/table.c %D%/table.h \
	%D%/tree.c %D%/tree.h \
	%D%/when.c %D%/when.h
# The doctor joins its session as a login does, by the same code.
libctl_la_SOURCES += \
	pam_module/join.c pam_module/join.h \
	pam_module/open.c pam_module/open.h \
	pam_module/talk.c pam_module/talk.h
libctl_la_CPPFLAGS = $(AM_CPPFLAGS) -DATELIER_SYSCONF_DIR='"$(sysconfdir)"' \
	-DATELIER_DATA_DIR='"$(datadir)/atelier"'
libctl_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(CURL_CFLAGS) $(SODIUM_CFLAGS) -fPIE
libctl_la_LIBADD = libcommon.la $(JANSSON_LIBS) $(CURL_LIBS) $(SODIUM_LIBS)

atelier_SOURCES = %D%/main.c
atelier_CFLAGS = $(pie_cflags) $(JANSSON_CFLAGS)
atelier_LDFLAGS = $(pie_ldflags)
atelier_LDADD = libctl.la

# What ssh calls for the code of `atelier su`.
dist_programs_SCRIPTS += %D%/askpass
