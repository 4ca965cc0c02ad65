# SPDX-License-Identifier: ISC
monitor_sources = \
	%D%/canary.c %D%/canary.h \
	%D%/canary_cost.c %D%/canary_cost.h \
	%D%/canary_probe.c \
	%D%/cgroup.c %D%/cgroup.h \
	%D%/cgroup_clean.c %D%/cgroup_internal.h \
	%D%/cgroup_file.c %D%/cgroup_io.c \
	%D%/cgroup_join.c %D%/cgroup_join.h \
	%D%/cgroup_v1.c %D%/cgroup_v2.c %D%/cgroup_lite.c \
	%D%/child.c %D%/child.h \
	%D%/clock.h \
	%D%/core.c %D%/core.h \
	%D%/cpu_watch.c %D%/cpu_watch.h \
	%D%/disk.c %D%/disk.h \
	%D%/doctor.c %D%/doctor.h \
	%D%/disk_backend.c %D%/disk_backend.h \
	%D%/disk_image.c %D%/disk_image.h \
	%D%/fdcheck.c %D%/fdcheck.h \
	%D%/filter_proof.c %D%/filter_proof.h \
	%D%/guard.c %D%/guard.h \
	%D%/home.c %D%/home.h \
	%D%/home_fleeting.c %D%/home_fleeting.h \
	%D%/hosttree.c %D%/hosttree.h \
	%D%/init.c %D%/init.h \
	%D%/lease.c %D%/lease.h \
	%D%/listener.c %D%/listener.h \
	%D%/main.c \
	%D%/monitor.h \
	%D%/mountapi.c %D%/mountapi.h \
	%D%/net.c %D%/net.h \
	%D%/net_count.c %D%/net_count.h \
	%D%/net_limit.c %D%/net_limit.h \
	%D%/net_cgroup.c %D%/net_cgroup.h \
	%D%/net_follow.c %D%/net_follow.h \
	%D%/net_link.c %D%/net_link.h \
	%D%/net_look.c %D%/net_look.h \
	%D%/net_names.c %D%/net_names.h \
	%D%/net_news.c %D%/net_news.h \
	%D%/net_program.c %D%/net_program.h \
	%D%/net_table.c %D%/net_table.h \
	%D%/netkeep.c %D%/netkeep.h \
	%D%/nscd.c %D%/nscd.h \
	%D%/pidfd.h \
	%D%/ownroot.c %D%/ownroot.h \
	%D%/policy_load.c %D%/policy_load.h \
	%D%/policy_tool.c %D%/policy_tool.h \
	%D%/policy_warn.c %D%/policy_warn.h \
	%D%/proc_watch.c %D%/proc_watch.h \
	%D%/procs.c %D%/procs.h \
	%D%/procfs.c %D%/procfs.h \
	%D%/pwlock.c %D%/pwlock.h \
	%D%/receipt.c %D%/receipt.h \
	%D%/request.c %D%/request.h \
	%D%/run.c %D%/run.h \
	%D%/run_answer.c %D%/run_internal.h \
	%D%/run_ready.c \
	%D%/scope.c %D%/scope.h \
	%D%/session.c %D%/session.h \
	%D%/session_adopt.c \
	%D%/session_door.c \
	%D%/session_group.c \
	%D%/session_memory.c \
	%D%/session_init.c %D%/session_init.h \
	%D%/session_internal.h \
	%D%/session_lease.c \
	%D%/session_offer.c %D%/session_offer.h \
	%D%/session_store.c %D%/session_store.h \
	%D%/skills.c %D%/skills.h \
	%D%/spawn_wire.h \
	%D%/spawned.c %D%/spawned.h \
	%D%/spawner.c %D%/spawner.h \
	%D%/target.c %D%/target.h \
	%D%/task_clock.c %D%/task_clock.h \
	%D%/tree.c %D%/tree.h \
	%D%/utmp.c %D%/utmp.h \
	%D%/watchdog.c %D%/watchdog.h

# Below the directory: a program "sessiond" at the top would be in the way of sessiond/.
programs_PROGRAMS += sessiond/monitor/sessiond
sessiond_monitor_sessiond_SOURCES = $(monitor_sources)
sessiond_monitor_sessiond_CFLAGS = $(pie_cflags) $(CAP_CFLAGS) $(EVENT_CFLAGS)
sessiond_monitor_sessiond_LDFLAGS = $(pie_ldflags)
sessiond_monitor_sessiond_LDADD = libpolicy.la libsessiond_shared.la libcommon.la \
	$(CONFUSE_LIBS) $(SECCOMP_LIBS) $(CAP_LIBS) $(EVENT_LIBS)

# Never installed: protections can be taken away one at a time (tests/sabotage).
EXTRA_PROGRAMS += sessiond/monitor/sessiond-sabotage
CLEANFILES += sessiond/monitor/sessiond-sabotage$(EXEEXT)
sessiond_monitor_sessiond_sabotage_SOURCES = $(monitor_sources) common/sabotage.c
sessiond_monitor_sessiond_sabotage_CPPFLAGS = $(AM_CPPFLAGS) -DATELIER_SABOTAGE
sessiond_monitor_sessiond_sabotage_CFLAGS = $(sessiond_monitor_sessiond_CFLAGS)
sessiond_monitor_sessiond_sabotage_LDFLAGS = $(pie_ldflags)
sessiond_monitor_sessiond_sabotage_LDADD = $(sessiond_monitor_sessiond_LDADD)
