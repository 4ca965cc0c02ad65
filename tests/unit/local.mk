# SPDX-License-Identifier: ISC
# --- common, plan, descriptor checks
check_PROGRAMS += test_common test_near test_plan test_fdcheck test_skill
TESTS += test_common test_near test_plan test_fdcheck test_skill
test_near_SOURCES = %D%/test_near.c
test_near_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_near_LDADD = libcommon.la $(CMOCKA_LIBS)
test_skill_SOURCES = %D%/test_skill.c
test_skill_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_skill_LDADD = libpolicy.la libcommon.la $(CONFUSE_LIBS) $(SECCOMP_LIBS) $(CMOCKA_LIBS)
test_common_SOURCES = %D%/test_common.c
test_common_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_common_LDADD = libcommon.la $(CMOCKA_LIBS)
test_plan_SOURCES = %D%/test_plan.c
test_plan_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_plan_LDADD = libpolicy.la libcommon.la $(CONFUSE_LIBS) $(SECCOMP_LIBS) $(CMOCKA_LIBS)
test_fdcheck_SOURCES = %D%/test_fdcheck.c sessiond/monitor/fdcheck.c
test_fdcheck_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_fdcheck_LDADD = libcommon.la $(CMOCKA_LIBS)

# --- the daemons and the service manager
check_PROGRAMS += test_notify test_holder
TESTS += test_notify test_holder
test_holder_SOURCES = %D%/test_holder.c
test_holder_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_holder_LDADD = libsessiond_shared.la libcommon.la $(CMOCKA_LIBS)
test_notify_SOURCES = %D%/test_notify.c
test_notify_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_notify_LDADD = libsessiond_shared.la libcommon.la $(CMOCKA_LIBS)

# --- what is installed
dist_check_SCRIPTS += %D%/tst_apparmor %D%/tst_install %D%/tst_syscalls_page %D%/tst_units
TESTS += %D%/tst_apparmor %D%/tst_install %D%/tst_syscalls_page %D%/tst_units

# --- the monitor's eye on logins
check_PROGRAMS += test_lease
TESTS += test_lease
test_lease_SOURCES = %D%/test_lease.c sessiond/monitor/lease.c sessiond/monitor/receipt.c \
	sessiond/monitor/hosttree.c sessiond/monitor/mountapi.c sessiond/monitor/skills.c \
	sessiond/monitor/cgroup.c sessiond/monitor/cgroup_clean.c sessiond/monitor/cgroup_file.c \
	sessiond/monitor/cgroup_v1.c sessiond/monitor/cgroup_v2.c sessiond/monitor/cgroup_lite.c sessiond/monitor/cgroup_io.c
test_lease_CPPFLAGS = $(AM_CPPFLAGS) $(EVENT_CFLAGS) $(CMOCKA_CFLAGS)
test_lease_LDADD = libpolicy.la libsessiond_shared.la libcommon.la $(SECCOMP_LIBS) $(EVENT_LIBS) $(CMOCKA_LIBS)

# --- receipts. They include receipt.c and filter_proof.c.
check_PROGRAMS += test_receipt test_filter_proof
TESTS += test_receipt test_filter_proof
test_receipt_SOURCES = %D%/test_receipt.c sessiond/monitor/lease.c \
	sessiond/monitor/hosttree.c sessiond/monitor/mountapi.c sessiond/monitor/skills.c \
	sessiond/monitor/cgroup.c sessiond/monitor/cgroup_clean.c sessiond/monitor/cgroup_file.c \
	sessiond/monitor/cgroup_lite.c sessiond/monitor/cgroup_io.c sessiond/monitor/cgroup_v1.c sessiond/monitor/cgroup_v2.c
test_receipt_CPPFLAGS = $(AM_CPPFLAGS) $(EVENT_CFLAGS) $(CMOCKA_CFLAGS)
test_receipt_LDADD = libpolicy.la libsessiond_shared.la libcommon.la $(SECCOMP_LIBS) $(EVENT_LIBS) $(CMOCKA_LIBS)
test_filter_proof_SOURCES = %D%/test_filter_proof.c
test_filter_proof_CPPFLAGS = $(AM_CPPFLAGS) $(EVENT_CFLAGS) $(SODIUM_CFLAGS) $(CMOCKA_CFLAGS)
test_filter_proof_LDADD = libpolicy.la libsessiond_shared.la libcommon.la $(SECCOMP_LIBS) $(EVENT_LIBS) $(SODIUM_LIBS) $(CMOCKA_LIBS)

# --- control groups. It includes cgroup.c.
check_PROGRAMS += test_cgroup
TESTS += test_cgroup
test_cgroup_SOURCES = %D%/test_cgroup.c sessiond/monitor/cgroup_clean.c \
	sessiond/monitor/cgroup_file.c sessiond/monitor/cgroup_v1.c sessiond/monitor/cgroup_v2.c sessiond/monitor/cgroup_lite.c sessiond/monitor/cgroup_io.c \
	sessiond/monitor/request.c
test_cgroup_CPPFLAGS = $(AM_CPPFLAGS) $(EVENT_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_LDADD = libpolicy.la libsessiond_shared.la libcommon.la $(SECCOMP_LIBS) \
	$(EVENT_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += test_cgroup_io
TESTS += test_cgroup_io
test_cgroup_io_SOURCES = %D%/test_cgroup_io.c sessiond/monitor/cgroup_io.c \
	sessiond/monitor/cgroup_file.c
test_cgroup_io_CPPFLAGS = $(AM_CPPFLAGS) $(EVENT_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_io_LDADD = libcommon.la $(CMOCKA_LIBS)

# --- homes that are images. It includes disk_image.c.
check_PROGRAMS += test_disk_image
TESTS += test_disk_image
test_disk_image_SOURCES = %D%/test_disk_image.c
test_disk_image_CPPFLAGS = $(AM_CPPFLAGS) $(EVENT_CFLAGS) $(CMOCKA_CFLAGS)
test_disk_image_LDADD = libpolicy.la libsessiond_shared.la libcommon.la $(SECCOMP_LIBS) \
	$(EVENT_LIBS) $(CMOCKA_LIBS)

# --- processor time. It has a count of its own in place of a leaf's.
check_PROGRAMS += test_hosttree
TESTS += test_hosttree
test_hosttree_SOURCES = %D%/test_hosttree.c sessiond/monitor/hosttree.c sessiond/monitor/mountapi.c sessiond/monitor/skills.c
test_hosttree_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_hosttree_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += test_proc_watch
TESTS += test_proc_watch
test_proc_watch_SOURCES = %D%/test_proc_watch.c sessiond/monitor/procs.c sessiond/monitor/proc_watch.c \
	sessiond/monitor/task_clock.c
test_proc_watch_CPPFLAGS = $(test_cpu_watch_CPPFLAGS)
test_proc_watch_LDADD = libpolicy.la $(test_cpu_watch_LDADD) $(SECCOMP_LIBS)

# The same with little room.
check_PROGRAMS += test_procs_room
TESTS += test_procs_room
test_procs_room_SOURCES = %D%/test_procs_room.c sessiond/monitor/procs.c sessiond/monitor/proc_watch.c \
	sessiond/monitor/task_clock.c
test_procs_room_CPPFLAGS = $(test_cpu_watch_CPPFLAGS) -DPROCS_ROOM=24u
test_procs_room_LDADD = $(test_cpu_watch_LDADD)

check_PROGRAMS += test_cpu_watch
TESTS += test_cpu_watch
test_cpu_watch_SOURCES = %D%/test_cpu_watch.c sessiond/monitor/cpu_watch.c
test_cpu_watch_CPPFLAGS = $(AM_CPPFLAGS) $(EVENT_CFLAGS) $(CMOCKA_CFLAGS)
test_cpu_watch_LDADD = libsessiond_shared.la libcommon.la $(EVENT_LIBS) $(CMOCKA_LIBS)

# --- records of sessions. Each includes what it tests, with other paths.
check_PROGRAMS += test_nscd test_request test_session_store test_utmp
TESTS += test_nscd test_request test_session_store test_utmp
test_nscd_SOURCES = %D%/test_nscd.c sessiond/monitor/nscd.c
test_nscd_CPPFLAGS = $(AM_CPPFLAGS) $(EVENT_CFLAGS) $(CMOCKA_CFLAGS)
test_nscd_LDADD = libsessiond_shared.la libcommon.la $(EVENT_LIBS) $(CMOCKA_LIBS)
test_request_SOURCES = %D%/test_request.c sessiond/monitor/request.c
test_request_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_request_LDADD = libcommon.la $(CMOCKA_LIBS)
test_session_store_SOURCES = %D%/test_session_store.c
test_session_store_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_session_store_LDADD = libcommon.la $(CMOCKA_LIBS)
test_utmp_SOURCES = %D%/test_utmp.c
test_utmp_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_utmp_LDADD = libcommon.la $(CMOCKA_LIBS)

# --- index reader and NSS module
check_PROGRAMS += test_index_read test_index_trust
TESTS += test_index_read test_index_trust
test_index_read_SOURCES = \
	%D%/index_build.c %D%/index_build.h \
	%D%/test_index_read.c
test_index_read_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_index_read_LDADD = libcommon.la $(CMOCKA_LIBS)
test_index_trust_SOURCES = %D%/test_index_trust.c %D%/index_build.c %D%/index_build.h
test_index_trust_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_index_trust_LDADD = libcommon.la $(CMOCKA_LIBS)

nss_tests = test_nss_module test_nss_listing test_nss_host
check_PROGRAMS += $(nss_tests)
TESTS += $(nss_tests)
nss_test_cppflags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
	-DTEST_MODULE='"$(abs_builddir)/.libs/libnss_atelier_test.so"' \
	-DSHIPPED_MODULE='"$(abs_builddir)/.libs/libnss_atelier.so.2"'
nss_test_ldadd = libcommon.la $(CMOCKA_LIBS)
nss_test_modules = libnss_atelier.la libnss_atelier_test.la
nss_test_fixture = \
	%D%/index_build.c %D%/index_build.h \
	%D%/nss_fixture.c %D%/nss_fixture.h
test_nss_module_SOURCES = %D%/test_nss_module.c $(nss_test_fixture)
test_nss_module_CPPFLAGS = $(nss_test_cppflags)
test_nss_module_LDADD = $(nss_test_ldadd)
EXTRA_test_nss_module_DEPENDENCIES = $(nss_test_modules)
test_nss_listing_SOURCES = %D%/test_nss_listing.c $(nss_test_fixture)
test_nss_listing_CPPFLAGS = $(nss_test_cppflags)
test_nss_listing_LDADD = $(nss_test_ldadd)
EXTRA_test_nss_listing_DEPENDENCIES = $(nss_test_modules)
test_nss_host_SOURCES = %D%/test_nss_host.c $(nss_test_fixture)
test_nss_host_CPPFLAGS = $(nss_test_cppflags)
test_nss_host_LDADD = $(nss_test_ldadd)
EXTRA_test_nss_host_DEPENDENCIES = $(nss_test_modules)

dist_check_SCRIPTS += %D%/tst_nss_exports
TESTS += %D%/tst_nss_exports

# Linked with the module's sources, so that ThreadSanitizer sees them.
nss_load_sources = %D%/nss_load.c %D%/index_build.c %D%/index_build.h \
	nss_module/group.c nss_module/lookup.c nss_module/passwd.c \
	common/fd.c common/index_read.c common/str.c
nss_load_cppflags = $(AM_CPPFLAGS) -DNSS_INDEX_DIR='"index-under-test"'
check_PROGRAMS += %D%/nss_load
%C%_nss_load_SOURCES = $(nss_load_sources)
%C%_nss_load_CPPFLAGS = $(nss_load_cppflags)
if HAVE_TSAN
check_PROGRAMS += %D%/nss_load_tsan
%C%_nss_load_tsan_SOURCES = $(nss_load_sources)
%C%_nss_load_tsan_CPPFLAGS = $(nss_load_cppflags)
%C%_nss_load_tsan_CFLAGS = $(AM_CFLAGS) -fsanitize=thread
endif
nss_load_tests = %D%/tst_nss_load %D%/tst_nss_tsan %D%/tst_nss_valgrind
dist_check_SCRIPTS += $(nss_load_tests)
TESTS += $(nss_load_tests)

# The fuzzer's harness with its corpus, and a few thousand changes of it.
check_PROGRAMS += %D%/replay_index
TESTS += %D%/replay_index
%C%_replay_index_SOURCES = tests/fuzz/fuzz_index.c
%C%_replay_index_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_REPLAY \
	-DFUZZ_CORPUS='"$(abs_srcdir)/tests/fuzz/index.corpus"'
%C%_replay_index_LDADD = libcommon.la
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/index.corpus

# --- registry
registry_tests = test_name test_index_write test_registry test_registry_user test_registry_caller \
	test_registry_crash test_registry_external_id test_registry_index test_registry_link test_registry_link_crash \
	test_registry_schema test_registry_session test_registry_state test_registry_ledger \
	test_registry_change test_registry_group test_registry_batch test_registry_backup test_registry_restore \
	test_registry_refusal \
	test_registry_kill
check_PROGRAMS += $(registry_tests)
TESTS += $(registry_tests)
registry_test_cppflags = $(AM_CPPFLAGS) $(SQLITE_CFLAGS) $(CMOCKA_CFLAGS)
registry_test_libs = libregistry.la $(SQLITE_LIBS) $(CMOCKA_LIBS)
registry_test_fixture = %D%/registry_fixture.c %D%/registry_fixture.h
test_name_SOURCES = %D%/test_name.c
test_name_CPPFLAGS = $(registry_test_cppflags)
test_name_LDADD = $(registry_test_libs)
test_index_write_SOURCES = %D%/test_index_write.c %D%/index_build.c %D%/index_build.h
test_index_write_CPPFLAGS = $(registry_test_cppflags)
test_index_write_LDADD = $(registry_test_libs)
test_registry_SOURCES = %D%/test_registry.c $(registry_test_fixture)
test_registry_CPPFLAGS = $(registry_test_cppflags)
test_registry_LDADD = $(registry_test_libs)
test_registry_crash_SOURCES = %D%/test_registry_crash.c $(registry_test_fixture)
test_registry_crash_CPPFLAGS = $(registry_test_cppflags)
test_registry_crash_LDADD = $(registry_test_libs)
test_registry_external_id_SOURCES = %D%/test_registry_external_id.c $(registry_test_fixture)
test_registry_external_id_CPPFLAGS = $(registry_test_cppflags)
test_registry_external_id_LDADD = $(registry_test_libs)
test_registry_index_SOURCES = %D%/test_registry_index.c $(registry_test_fixture) \
	%D%/index_build.c %D%/index_build.h
test_registry_index_CPPFLAGS = $(registry_test_cppflags)
test_registry_index_LDADD = $(registry_test_libs)
test_registry_link_SOURCES = %D%/test_registry_link.c $(registry_test_fixture)
test_registry_link_CPPFLAGS = $(registry_test_cppflags)
test_registry_link_LDADD = $(registry_test_libs)
test_registry_link_crash_SOURCES = %D%/test_registry_link_crash.c $(registry_test_fixture)
test_registry_link_crash_CPPFLAGS = $(registry_test_cppflags)
test_registry_link_crash_LDADD = $(registry_test_libs)
test_registry_schema_SOURCES = %D%/test_registry_schema.c $(registry_test_fixture)
test_registry_schema_CPPFLAGS = $(registry_test_cppflags)
test_registry_schema_LDADD = $(registry_test_libs)
test_registry_backup_SOURCES = %D%/test_registry_backup.c $(registry_test_fixture)
test_registry_backup_CPPFLAGS = $(registry_test_cppflags)
test_registry_backup_LDADD = $(registry_test_libs)
test_registry_restore_SOURCES = %D%/test_registry_restore.c $(registry_test_fixture)
test_registry_restore_CPPFLAGS = $(registry_test_cppflags)
test_registry_restore_LDADD = $(registry_test_libs)
test_registry_batch_SOURCES = %D%/test_registry_batch.c $(registry_test_fixture)
test_registry_batch_CPPFLAGS = $(registry_test_cppflags)
test_registry_batch_LDADD = $(registry_test_libs)
test_registry_refusal_SOURCES = %D%/test_registry_refusal.c $(registry_test_fixture)
test_registry_refusal_CPPFLAGS = $(registry_test_cppflags)
test_registry_refusal_LDADD = $(registry_test_libs)
test_registry_change_SOURCES = %D%/test_registry_change.c $(registry_test_fixture)
test_registry_change_CPPFLAGS = $(registry_test_cppflags)
test_registry_change_LDADD = $(registry_test_libs)
test_registry_group_SOURCES = %D%/test_registry_group.c $(registry_test_fixture)
test_registry_group_CPPFLAGS = $(registry_test_cppflags)
test_registry_group_LDADD = $(registry_test_libs)
test_registry_kill_SOURCES = %D%/test_registry_kill.c $(registry_test_fixture)
test_registry_kill_CPPFLAGS = $(registry_test_cppflags)
test_registry_kill_LDADD = $(registry_test_libs)
test_registry_ledger_SOURCES = %D%/test_registry_ledger.c $(registry_test_fixture)
test_registry_ledger_CPPFLAGS = $(registry_test_cppflags)
test_registry_ledger_LDADD = $(registry_test_libs)
test_registry_session_SOURCES = %D%/test_registry_session.c $(registry_test_fixture)
test_registry_session_CPPFLAGS = $(registry_test_cppflags)
test_registry_session_LDADD = $(registry_test_libs)
test_registry_state_SOURCES = %D%/test_registry_state.c $(registry_test_fixture)
test_registry_state_CPPFLAGS = $(registry_test_cppflags)
test_registry_state_LDADD = $(registry_test_libs)
test_registry_user_SOURCES = %D%/test_registry_user.c $(registry_test_fixture)
test_registry_user_CPPFLAGS = $(registry_test_cppflags)
test_registry_user_LDADD = $(registry_test_libs)
test_registry_caller_SOURCES = %D%/test_registry_caller.c $(registry_test_fixture)
test_registry_caller_CPPFLAGS = $(registry_test_cppflags)
test_registry_caller_LDADD = $(registry_test_libs)

# policy
check_PROGRAMS += test_config_loose
TESTS += test_config_loose
test_config_loose_SOURCES = %D%/test_config_loose.c
test_config_loose_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_config_loose_LDADD = libpolicy_config.la $(CMOCKA_LIBS)
check_PROGRAMS += test_config test_config_shown
TESTS += test_config test_config_shown
config_test_fixture = %D%/config_fixture.c %D%/config_fixture.h
test_config_SOURCES = %D%/test_config.c $(config_test_fixture)
test_config_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_config_LDADD = libpolicy_config.la $(CMOCKA_LIBS)
test_config_shown_SOURCES = %D%/test_config_shown.c $(config_test_fixture)
test_config_shown_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) -DSOURCE_DIR='"$(abs_top_srcdir)"'
test_config_shown_LDADD = libpolicy_config.la $(CMOCKA_LIBS)
check_PROGRAMS += test_config_disk
TESTS += test_config_disk
test_config_disk_SOURCES = %D%/test_config_disk.c
test_config_disk_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_config_disk_LDADD = libpolicy.la libpolicy_config.la libcommon.la $(CONFUSE_LIBS) \
	$(SECCOMP_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += test_config_net
TESTS += test_config_net
test_config_net_SOURCES = %D%/test_config_net.c
test_config_net_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) -DSOURCE_DIR='"$(abs_top_srcdir)"'
test_config_net_LDADD = libpolicy_config.la $(CMOCKA_LIBS)

check_PROGRAMS += test_filter test_filter_live test_filter_rows test_netrules test_netrules_live test_netrules_seen \
	test_names test_netrules_policy_live
TESTS += test_filter test_filter_live test_filter_rows test_netrules test_netrules_live test_netrules_seen \
	test_names test_netrules_policy_live
policy_test_cppflags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
policy_test_ldadd = libpolicy.la $(CMOCKA_LIBS)
filter_test_fixture = %D%/bpf_eval.c %D%/bpf_eval.h %D%/filter_fixture.c %D%/filter_fixture.h
test_filter_SOURCES = %D%/test_filter.c $(filter_test_fixture)
test_filter_CPPFLAGS = $(policy_test_cppflags)
test_filter_LDADD = $(policy_test_ldadd)
test_filter_live_SOURCES = %D%/test_filter_live.c
test_filter_live_CPPFLAGS = $(policy_test_cppflags)
test_filter_live_LDADD = $(policy_test_ldadd)
test_filter_rows_SOURCES = %D%/test_filter_rows.c $(filter_test_fixture)
test_filter_rows_CPPFLAGS = $(policy_test_cppflags) $(SECCOMP_CFLAGS)
test_filter_rows_LDADD = $(policy_test_ldadd) $(SECCOMP_LIBS)
check_PROGRAMS += test_netcount test_netcount_live
TESTS += test_netcount test_netcount_live
test_netcount_SOURCES = %D%/test_netcount.c
test_netcount_CPPFLAGS = $(policy_test_cppflags)
test_netcount_LDADD = $(policy_test_ldadd)
test_netcount_live_SOURCES = %D%/test_netcount_live.c %D%/netrules_lab.c %D%/netrules_lab.h
test_netcount_live_CPPFLAGS = $(policy_test_cppflags)
test_netcount_live_LDADD = $(policy_test_ldadd)
test_netrules_SOURCES = %D%/test_netrules.c
test_netrules_CPPFLAGS = $(policy_test_cppflags)
test_netrules_LDADD = $(policy_test_ldadd)
test_netrules_live_SOURCES = %D%/test_netrules_live.c %D%/netrules_lab.c %D%/netrules_lab.h
test_netrules_live_CPPFLAGS = $(policy_test_cppflags)
test_netrules_live_LDADD = $(policy_test_ldadd)
test_names_SOURCES = %D%/test_names.c
test_names_CPPFLAGS = $(policy_test_cppflags)
test_names_LDADD = $(policy_test_ldadd)
test_netrules_policy_live_SOURCES = %D%/test_netrules_policy_live.c %D%/netrules_lab.c %D%/netrules_lab.h
test_netrules_policy_live_CPPFLAGS = $(policy_test_cppflags)
test_netrules_policy_live_LDADD = $(policy_test_ldadd)
test_netrules_seen_SOURCES = %D%/test_netrules_seen.c %D%/netrules_lab.c %D%/netrules_lab.h
test_netrules_seen_CPPFLAGS = $(policy_test_cppflags)
test_netrules_seen_LDADD = $(policy_test_ldadd)

# --- the kernel's news of the firewall
check_PROGRAMS += test_net_link test_net_names test_net_news
TESTS += test_net_link test_net_names test_net_news
test_net_link_SOURCES = %D%/test_net_link.c %D%/netrules_lab.c %D%/netrules_lab.h \
	sessiond/monitor/net_link.c
test_net_link_CPPFLAGS = $(policy_test_cppflags)
test_net_link_LDADD = $(policy_test_ldadd)
test_net_names_SOURCES = %D%/test_net_names.c sessiond/monitor/net_names.c
test_net_names_CPPFLAGS = $(policy_test_cppflags)
test_net_names_LDADD = $(policy_test_ldadd)
test_net_news_SOURCES = %D%/test_net_news.c %D%/netrules_lab.c %D%/netrules_lab.h \
	sessiond/monitor/net_news.c
test_net_news_CPPFLAGS = $(policy_test_cppflags)
test_net_news_LDADD = $(policy_test_ldadd)

# --- sessiond-api
api_tests = test_api_event test_api_hostcheck test_api_inbound test_api_input test_api_limits \
	test_api_login \
	test_api_nsswitch test_api_outcome test_api_people test_api_refusal test_api_shells test_api_text test_api_timestamp test_api_view
check_PROGRAMS += $(api_tests)
TESTS += $(api_tests)
api_test_cppflags = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(EVENT_CFLAGS) $(SODIUM_CFLAGS) $(CMOCKA_CFLAGS)
api_test_libs = libapi.la $(JANSSON_LIBS) $(EVENT_LIBS) $(SODIUM_LIBS) $(CMOCKA_LIBS)
test_api_event_SOURCES = %D%/test_api_event.c
test_api_event_CPPFLAGS = $(api_test_cppflags)
test_api_event_LDADD = $(api_test_libs)
test_api_hostcheck_SOURCES = %D%/test_api_hostcheck.c sessiond/api/hostcheck.c \
	sessiond/api/hostlist.c sessiond/api/nsswitch.c
test_api_hostcheck_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_api_hostcheck_LDADD = libcommon.la $(CMOCKA_LIBS)
test_api_inbound_SOURCES = %D%/test_api_inbound.c
test_api_inbound_CPPFLAGS = $(api_test_cppflags)
test_api_inbound_LDADD = $(api_test_libs)
test_api_input_SOURCES = %D%/test_api_input.c %D%/body_case.c %D%/body_case.h
test_api_input_CPPFLAGS = $(api_test_cppflags)
test_api_input_LDADD = $(api_test_libs)
test_api_limits_SOURCES = %D%/test_api_limits.c sessiond/api/limits.c
test_api_limits_CPPFLAGS = $(api_test_cppflags)
test_api_limits_LDADD = $(api_test_libs) libsessiond_shared.la
test_api_login_SOURCES = %D%/test_api_login.c
test_api_login_CPPFLAGS = $(api_test_cppflags)
test_api_login_LDADD = $(api_test_libs)
test_api_outcome_SOURCES = %D%/test_api_outcome.c
test_api_outcome_CPPFLAGS = $(api_test_cppflags)
test_api_outcome_LDADD = $(api_test_libs)
test_api_nsswitch_SOURCES = %D%/test_api_nsswitch.c sessiond/api/nsswitch.c
test_api_nsswitch_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_api_nsswitch_LDADD = libcommon.la $(CMOCKA_LIBS)
test_api_people_SOURCES = %D%/test_api_people.c %D%/body_case.c %D%/body_case.h
test_api_people_CPPFLAGS = $(api_test_cppflags)
test_api_people_LDADD = $(api_test_libs)
test_api_refusal_SOURCES = %D%/test_api_refusal.c %D%/body_case.c %D%/body_case.h \
	$(registry_test_fixture)
test_api_refusal_CPPFLAGS = $(api_test_cppflags) $(SQLITE_CFLAGS)
test_api_refusal_LDADD = $(api_test_libs) $(SQLITE_LIBS)
test_api_shells_SOURCES = %D%/test_api_shells.c sessiond/api/shells.c
test_api_shells_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
test_api_shells_LDADD = libcommon.la $(CMOCKA_LIBS)
test_api_text_SOURCES = %D%/test_api_text.c
test_api_text_CPPFLAGS = $(api_test_cppflags)
test_api_text_LDADD = $(api_test_libs)
test_api_timestamp_SOURCES = %D%/test_api_timestamp.c
test_api_timestamp_CPPFLAGS = $(api_test_cppflags)
test_api_timestamp_LDADD = $(api_test_libs)
test_api_view_SOURCES = %D%/test_api_view.c
test_api_view_CPPFLAGS = $(api_test_cppflags)
test_api_view_LDADD = $(api_test_libs)

# --- magic links
magic_link_tests = test_magic_link test_magic_link_key test_magic_link_limit test_magic_link_qr \
	test_magic_link_redeem
check_PROGRAMS += $(magic_link_tests)
TESTS += $(magic_link_tests)
magic_link_test_cppflags = $(AM_CPPFLAGS) $(SODIUM_CFLAGS) $(CMOCKA_CFLAGS)
magic_link_test_libs = libmagic_link.la $(SODIUM_LIBS) $(CMOCKA_LIBS)
test_magic_link_SOURCES = %D%/test_magic_link.c
test_magic_link_CPPFLAGS = $(magic_link_test_cppflags)
test_magic_link_LDADD = $(magic_link_test_libs)
test_magic_link_key_SOURCES = %D%/test_magic_link_key.c
test_magic_link_key_CPPFLAGS = $(magic_link_test_cppflags)
test_magic_link_key_LDADD = $(magic_link_test_libs)
test_magic_link_limit_SOURCES = %D%/test_magic_link_limit.c
test_magic_link_limit_CPPFLAGS = $(magic_link_test_cppflags)
test_magic_link_limit_LDADD = $(magic_link_test_libs)
test_magic_link_qr_SOURCES = %D%/test_magic_link_qr.c
test_magic_link_qr_CPPFLAGS = $(magic_link_test_cppflags)
test_magic_link_qr_LDADD = $(magic_link_test_libs)
test_magic_link_redeem_SOURCES = %D%/test_magic_link_redeem.c $(registry_test_fixture)
test_magic_link_redeem_CPPFLAGS = $(magic_link_test_cppflags) $(registry_test_cppflags)
test_magic_link_redeem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=link_consume
test_magic_link_redeem_LDADD = libmagic_link.la $(registry_test_libs) $(SODIUM_LIBS)

# --- ctl
ctl_tests = \
	%D%/test_ctl_admin \
	%D%/test_ctl_adopt \
	%D%/test_ctl_adopt_home \
	%D%/test_ctl_args \
	%D%/test_ctl_client \
	%D%/test_ctl_csv \
	%D%/test_ctl_event \
	%D%/test_ctl_doctor \
	%D%/test_ctl_doctor_attacks \
	%D%/test_ctl_exit \
	%D%/test_ctl_files \
	%D%/test_ctl_home_size \
	%D%/test_ctl_list \
	%D%/test_ctl_login \
	%D%/test_ctl_said \
	%D%/test_ctl_say \
	%D%/test_ctl_setup_edit \
	%D%/test_ctl_setup_host \
	%D%/test_ctl_setup_record \
	%D%/test_ctl_setup_traces \
	%D%/test_ctl_su \
	%D%/test_ctl_tree
check_PROGRAMS += $(ctl_tests)
TESTS += $(ctl_tests)
ctl_test_ldadd = libctl.la libcommon.la $(JANSSON_LIBS) $(CMOCKA_LIBS)

%C%_test_ctl_list_SOURCES = %D%/test_ctl_list.c
%C%_test_ctl_list_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_args_SOURCES = %D%/test_ctl_args.c
%C%_test_ctl_args_LDADD = $(ctl_test_ldadd)
ctl_test_scene = %D%/ctl_scene.c %D%/ctl_scene.h
%C%_test_ctl_client_SOURCES = %D%/test_ctl_client.c $(ctl_test_scene)
%C%_test_ctl_client_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_admin_SOURCES = %D%/test_ctl_admin.c $(ctl_test_scene)
%C%_test_ctl_admin_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_adopt_SOURCES = %D%/test_ctl_adopt.c
%C%_test_ctl_adopt_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_csv_SOURCES = %D%/test_ctl_csv.c $(ctl_test_scene)
%C%_test_ctl_csv_LDADD = $(ctl_test_ldadd)
ctl_test_place = %D%/ctl_place.c %D%/ctl_place.h
%C%_test_ctl_adopt_home_SOURCES = %D%/test_ctl_adopt_home.c $(ctl_test_place)
%C%_test_ctl_adopt_home_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_files_SOURCES = %D%/test_ctl_files.c $(ctl_test_place)
%C%_test_ctl_files_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_home_size_SOURCES = %D%/test_ctl_home_size.c $(ctl_test_place)
%C%_test_ctl_home_size_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_tree_SOURCES = %D%/test_ctl_tree.c $(ctl_test_place)
%C%_test_ctl_tree_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_event_SOURCES = %D%/test_ctl_event.c
%C%_test_ctl_event_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_doctor_SOURCES = %D%/test_ctl_doctor.c
%C%_test_ctl_doctor_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DMANUAL='"$(srcdir)/man/atelier-doctor.8"'
%C%_test_ctl_doctor_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_doctor_attacks_SOURCES = %D%/test_ctl_doctor_attacks.c
%C%_test_ctl_doctor_attacks_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_test_ctl_doctor_attacks_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_exit_SOURCES = %D%/test_ctl_exit.c
%C%_test_ctl_exit_CPPFLAGS = $(AM_CPPFLAGS) -DMANUAL='"$(srcdir)/man/atelier.1"'
%C%_test_ctl_exit_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_login_SOURCES = %D%/test_ctl_login.c $(ctl_test_scene)
%C%_test_ctl_login_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_said_SOURCES = %D%/test_ctl_said.c
%C%_test_ctl_said_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_say_SOURCES = %D%/test_ctl_say.c
%C%_test_ctl_say_LDADD = $(ctl_test_ldadd)
ctl_setup_test_cppflags = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_test_ctl_setup_edit_SOURCES = %D%/test_ctl_setup_edit.c
%C%_test_ctl_setup_edit_CPPFLAGS = $(ctl_setup_test_cppflags)
%C%_test_ctl_setup_edit_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_setup_host_SOURCES = %D%/test_ctl_setup_host.c
%C%_test_ctl_setup_host_CPPFLAGS = $(ctl_setup_test_cppflags)
%C%_test_ctl_setup_host_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_setup_record_SOURCES = %D%/test_ctl_setup_record.c
%C%_test_ctl_setup_record_CPPFLAGS = $(ctl_setup_test_cppflags)
%C%_test_ctl_setup_record_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_setup_traces_SOURCES = %D%/test_ctl_setup_traces.c
%C%_test_ctl_setup_traces_CPPFLAGS = $(ctl_setup_test_cppflags)
%C%_test_ctl_setup_traces_LDADD = $(ctl_test_ldadd)
%C%_test_ctl_su_SOURCES = %D%/test_ctl_su.c $(ctl_test_scene)
%C%_test_ctl_su_CPPFLAGS = $(AM_CPPFLAGS) -DATELIER_SYSCONF_DIR='"$(sysconfdir)"' \
	-DASKPASS='"$(srcdir)/ctl/askpass"'
%C%_test_ctl_su_LDADD = $(ctl_test_ldadd)

# --- PAM module and login shell
pam_tests = test_pam_wire test_pam_module test_pam_join
check_PROGRAMS += $(pam_tests) test_shell
TESTS += $(pam_tests) test_shell
pam_test_cppflags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
	-DTEST_MODULE='"$(abs_builddir)/.libs/pam_atelier_test.so"'
pam_test_fixture = %D%/pam_fixture.c %D%/pam_fixture.h
pam_test_service = %D%/pam_service.c %D%/pam_service.h
test_pam_wire_SOURCES = %D%/test_pam_wire.c $(pam_test_fixture) \
	pam_module/ask.c pam_module/field.c pam_module/join.c pam_module/open.c pam_module/talk.c
test_pam_wire_CPPFLAGS = $(pam_test_cppflags)
test_pam_wire_LDADD = libcommon.la $(PAM_LIBS) $(CMOCKA_LIBS)
test_pam_module_SOURCES = %D%/test_pam_module.c $(pam_test_fixture) $(pam_test_service)
test_pam_module_CPPFLAGS = $(pam_test_cppflags)
test_pam_module_LDADD = libcommon.la $(PAM_LIBS) $(CMOCKA_LIBS)
EXTRA_test_pam_module_DEPENDENCIES = pam_atelier_test.la
test_pam_join_SOURCES = %D%/test_pam_join.c $(pam_test_fixture) $(pam_test_service)
test_pam_join_CPPFLAGS = $(pam_test_cppflags)
test_pam_join_LDADD = libpolicy.la libcommon.la $(CONFUSE_LIBS) $(SECCOMP_LIBS) $(PAM_LIBS) $(CMOCKA_LIBS)
EXTRA_test_pam_join_DEPENDENCIES = pam_atelier_test.la
test_shell_SOURCES = %D%/test_shell.c shell/shell.c
test_shell_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
	-DSHELL_UNDER_TEST='"$(abs_builddir)/shell/shell"'
test_shell_LDADD = $(CMOCKA_LIBS)
EXTRA_test_shell_DEPENDENCIES = shell/shell

dist_check_SCRIPTS += %D%/tst_pam_exports
TESTS += %D%/tst_pam_exports
