# SPDX-License-Identifier: ISC
# run_rows.py - the protections of a run.
#
# Each of them twice: alone, and then the receipt is not what was planned and the run is refused; or
# together with the check of the receipt, and then the program runs and the receipt shows what is
# missing. Rules are taken away by an act from outside.
import contextlib
import os

import lab
import test_policy
from row import Row


def shows(is_so):
    def seen():
        run = lab.run(["/bin/true"])
        return "" if is_so(run) else f"a run shows {run.events}"
    return seen


def refused(*steps):
    return shows(lambda run: run.status == "setup_failed" and run.end["step"] in steps)


def goes_through(what=bool):
    """The run is all right to look at, but for its receipt."""
    return shows(lambda run: run.status == "ok" and what(run.receipt))


def under(policy, seen):
    """What is seen with this policy."""
    def seen_so():
        test_policy.policy(policy)
        try:
            return seen()
        finally:
            os.unlink(test_policy.FILE)
            test_policy.reload()
    return seen_so


def held_by_group_alone():
    """A run goes on to be held: by the jump that is left."""
    run = lab.python("import socket\nprint(socket.socket().connect_ex(('10.9.0.2', 7777)))", net="public")
    with contextlib.suppress(AttributeError, ValueError):
        if run.status == "ok" and int(run.out) != 0 and run.receipt["net_group"]:
            return ""
    return f"a run shows {run.events}"


def doctor(*checks):
    """Checks of atelier doctor that must no longer pass."""
    return tuple(f"test_doctor_attacks.py::test_a_check_passes[{check}]" for check in checks)


RUNS = ("test_runs.py::test_the_events_in_order",)
LOGINS = ("test_sabotage_targets.py::test_a_login_works",)
# Where the probe is not confined either, the canary speaks first.
STEPS = ("verify", "canary")
FILTER = ("test_confinement.py::test_the_filter_is_loaded",
          "test_confinement.py::test_a_dangerous_call_is_refused[unix-stream]",
          "test_confinement.py::test_a_dangerous_call_is_refused[ptrace]",
          "test_confinement.py::test_a_dangerous_call_is_refused[keyctl]")
IDS = ("test_confinement.py::test_ids_and_groups_are_those_of_the_user",
       "test_confinement.py::test_there_is_no_capability", *doctor("receipt"))
PIDS = ("test_confinement.py::test_only_own_processes_are_seen",
        "test_confinement.py::test_namespaces_are_those_of_the_receipt[none]",
        "test_runs.py::test_daemons_of_a_run_end_with_it", *doctor("other-processes", "persistence"))
LIMITS = ("test_confinement.py::test_limits_and_mounts_are_those_of_the_receipt",)
PRIORITY = ("test_confinement.py::test_a_run_is_no_more_important_than_others",)
NAMESPACES = ("test_confinement.py::test_namespaces_are_those_of_the_receipt[none]",)
FLAGS = ("test_confinement.py::test_the_system_is_read_only_and_without_set_uid",)
DISK = ("test_disk.py::test_a_home_that_is_an_image_is_full_at_its_size",)
# Each of them fails by one of the three alone.
EGRESS = ("test_egress.py::test_a_public_address_that_the_policy_denies_is_refused",
          "test_egress.py::test_networks_of_the_host_are_refused_if_the_policy_says_so",
          "test_egress.py::test_of_a_list_only_that_is_reached")
NNP = ("test_confinement.py::test_no_new_privileges_is_set", *doctor("receipt"))
GROUP = ("test_cgroup.py::test_a_run_has_the_limits_of_the_plan_and_no_name_for_its_group",
         "test_cgroup.py::test_a_refused_fork_is_no_fault_of_a_program_that_copes",
         *doctor("memory-bomb", "fork-bomb"))
MASKS = ("test_confinement.py::test_what_is_masked_in_proc_cannot_be_opened",)
PROC_RO = ("test_confinement.py::test_proc_is_read_only",)
SIZES = ("test_policy.py::test_what_is_shipped_holds_where_nothing_is_said", *doctor("file-bomb"))
NO_GROUPS = "" if (lab.health() or {}).get("cgroup_mode") != "none" else \
    "this machine has no control groups that a lab could use"
NO_TREE = "" if (lab.health() or {}).get("net_group") else \
    "the lab has no version 2 tree of control groups"
NO_LOOPS = "" if os.path.isdir("/sys/block/loop0") else "this machine has no loop devices"
V4 = tuple(f"test_network.py::test_a_run_does_not_reach[{address}-{protocol}]"
           for address in ("127.0.0.1", "10.9.0.2", "169.254.169.254")
           for protocol in ("tcp", "udp"))
V6 = tuple(f"test_network.py::test_a_run_does_not_reach[{address}-{protocol}]"
           for address in ("::1", "fd00:9::2") for protocol in ("tcp", "udp")) + \
    doctor("net-loopback", "net-ipv6")
CANARY4 = ("test_canary.py::test_rules_that_are_there_and_do_not_hold[iptables]",)
CANARY6 = ("test_canary.py::test_rules_that_are_there_and_do_not_hold[ip6tables]",)
KEPT = tuple(f"test_netkeep.py::test_what_others_change_is_put_back[{name}]"
             for name in ("all flushed", "accept above", "chain emptied", "drop deleted"))
# What atelier doctor finds then. The whole of it takes ten seconds: two rows are enough to show that
# it finds nothing else; single checks are among the tests of other rows.
NO_FILTER = ("net-sockets", "net-listen", "user-namespaces", "io-uring", "keyrings", "kernel-calls",
             "kernel-entries", "abstract-sockets", "other-processes", "receipt")
NO_RULES = ("rules-v4", "rule-counters", "net-loopback", "net-own", "net-private", "net-multicast", "net-mail",
            "fake-service")

CONNECTIONS = ("test_net.py::test_one_user_does_not_take_all_connections",
               "test_net.py::test_tries_are_counted_for_who_made_them_and_for_nobody_else")

ROWS = (
    Row("filter, receipt checked", {"sessiond": "seccomp"}, refused(*STEPS), RUNS),
    Row("filter", {"sessiond": "seccomp,verify"},
        goes_through(lambda receipt: receipt["seccomp"] == 0), FILTER, doctor=NO_FILTER),
    # One filter that allows everything: /proc counts it as ours, and the kernel shows that it is not.
    Row("another filter, receipt checked", {"sessiond": "filter"}, refused(*STEPS), RUNS),
    Row("another filter", {"sessiond": "filter,verify"},
        goes_through(lambda receipt: (receipt["seccomp"], receipt["seccomp_filters"]) == (2, 1)),
        FILTER[1:4]),
    Row("rlimits, receipt checked", {"sessiond": "rlimit"}, refused(*STEPS), RUNS),
    Row("rlimits", {"sessiond": "rlimit,verify"},
        goes_through(lambda receipt: receipt["rlimits"]["core"] != 1), LIMITS),
    Row("groups, receipt checked", {"sessiond": "groups"}, refused(*STEPS), RUNS),
    Row("groups", {"sessiond": "groups,verify"}, goes_through(lambda receipt: len(receipt["groups"]) != 2),
        IDS[:1]),
    Row("bounding set, receipt checked", {"sessiond": "bounding"}, refused(*STEPS), RUNS),
    Row("bounding set", {"sessiond": "bounding,verify"},
        goes_through(lambda receipt: receipt["capabilities"]["bounding"] != "0" * 16), IDS[1:2]),
    Row("first to go out of memory, receipt checked", {"sessiond": "priority"}, refused(*STEPS), RUNS),
    Row("first to go out of memory", {"sessiond": "priority,verify"},
        goes_through(lambda receipt: receipt["oom_score_adj"] != 500), PRIORITY),
    Row("ipc namespace, receipt checked", {"sessiond": "ipcns"}, refused(*STEPS), RUNS),
    Row("ipc namespace", {"sessiond": "ipcns,verify"},
        goes_through(lambda receipt: not receipt["namespaces"]["ipc"]["own"]), NAMESPACES),
    Row("network namespace, receipt checked", {"sessiond": "netns"}, refused("verify"), RUNS),
    Row("network namespace", {"sessiond": "netns,verify"},
        goes_through(lambda receipt: receipt["net"] == "public"), NAMESPACES),
    # That the receipt is enough for each of these alone, test_receipt shows field by field.
    Row("mount namespace, receipt checked", {"sessiond": "mntns"}, refused(*STEPS), RUNS),
    Row("mount namespace", {"sessiond": "mntns,verify"},
        goes_through(lambda receipt: not receipt["namespaces"]["mnt"]["own"]), NAMESPACES),
    Row("uts and cgroup namespace, mount flags",
        {"host name": "", "sessiond": "utsns,cgroupns,mountflags,verify"}, goes_through(
            lambda receipt: not receipt["namespaces"]["uts"]["own"] and receipt["mount_flags"]["loose"] > 0
            and not receipt["namespaces"]["cgroup"]["own"]), NAMESPACES + FLAGS),
    # No receipt tells of these two: a test of its own for each does.
    Row("descriptors, death signal of the init", {"sessiond": "descriptors,deathsignal"}, goes_through(),
        ("test_confinement.py::test_only_standard_descriptors_are_open",
         "test_death.py::test_a_run_ends_with_the_root_process")),
    Row("trees read-only", {"sessiond": "trees,verify"}, goes_through(),
        ("test_policy.py::test_a_tree_is_there_read_only_and_not_for_others",)),
    # Where nothing can hold a user to a limit that is required, the receipt is enough.
    Row("limit of the disk, receipt checked", {"sessiond": "disk"},
        under("user { disk = 64M }\n", refused("verify")), DISK, NO_LOOPS),
    Row("limit of the disk", {"sessiond": "disk,verify"},
        under("user { disk = 64M }\n", goes_through(lambda receipt: receipt["disk"]["mode"] == "none")),
        DISK, NO_LOOPS),
    Row("ids, receipt checked", {"sessiond": "setuid"}, refused(*STEPS), RUNS),
    Row("ids, receipt checked, no canary", {"sessiond": "setuid,canary"}, refused("verify"), RUNS),
    Row("ids", {"sessiond": "setuid,canary,verify"},
        goes_through(lambda receipt: receipt["uid"] == [0] * 4), IDS),
    Row("pid namespace, receipt checked", {"sessiond": "pidns"}, refused(*STEPS), RUNS),
    Row("pid namespace", {"sessiond": "pidns,verify"},
        goes_through(lambda receipt: not receipt["namespaces"]["pid"]["own"]), PIDS),
    Row("control group, receipt checked", {"sessiond": "cgroup"}, refused(*STEPS), RUNS, NO_GROUPS),
    Row("control group", {"sessiond": "cgroup,verify"},
        goes_through(lambda receipt: receipt["cgroup"]["mode"] == "none"), GROUP, NO_GROUPS),
    Row("sizes of file systems, receipt checked", {"sessiond": "sizes"}, refused(*STEPS), RUNS),
    Row("sizes of file systems", {"sessiond": "sizes,verify"}, goes_through(), SIZES),
    Row("masks of /proc, receipt checked", {"sessiond": "masks"}, refused(*STEPS), RUNS),
    Row("masks of /proc", {"sessiond": "masks,verify"}, goes_through(), MASKS),
    Row("/proc read-only, receipt checked", {"sessiond": "procro"}, refused(*STEPS), RUNS),
    Row("/proc read-only", {"sessiond": "procro,verify"}, goes_through(), PROC_RO),
    # The kernel itself asks for it: without it no filter can be loaded.
    Row("no_new_privs, filter loaded", {"sessiond": "nnp"}, refused("filter", "canary"), RUNS),
    Row("no_new_privs, receipt checked", {"sessiond": "nnp,seccomp"}, refused(*STEPS), RUNS),
    Row("no_new_privs", {"sessiond": "nnp,seccomp,verify"},
        goes_through(lambda receipt: receipt["no_new_privs"] == 0), NNP),
    # Each of the two is enough: only without both a set-uid program makes its caller root.
    Row("no_new_privs, mount flags", {"sessiond": "nnp,mountflags,seccomp,verify"},
        goes_through(lambda receipt: receipt["no_new_privs"] == 0 and receipt["mount_flags"]["loose"] > 0),
        doctor("set-uid", "mounts")),
    Row("IPv4 rules, canary there", {"sessiond": "netkeep", "rule": "iptables ATELIER"}, refused("canary"),
        RUNS + LOGINS),
    Row("IPv6 rules, canary there", {"sessiond": "netkeep", "rule": "ip6tables ATELIER"}, refused("canary"),
        RUNS + LOGINS),
    Row("IPv4 rules", {"sessiond": "canary,netkeep", "rule": "iptables ATELIER"}, goes_through(), V4,
        doctor=NO_RULES),
    Row("IPv6 rules", {"sessiond": "canary,netkeep", "rule": "ip6tables ATELIER"}, goes_through(), V6),
    # A canary that is in a group is held by the other jump: the watch over the rules is what sees it.
    Row("IPv4 jump by user", {"sessiond": "netkeep", "rule": "iptables ATELIER owner"}, held_by_group_alone,
        ("test_network.py::test_the_rules_hold_for_the_uid_not_for_the_run[tcp]",), NO_TREE),
    Row("jump by control group", {"sessiond": "netgroup"},
        goes_through(lambda receipt: receipt["net_group"] is False),
        ("test_net_group.py::test_who_is_in_the_group_of_a_run_is_held_whatever_its_uid[5001]",), NO_TREE),
    Row("networks that the policy refuses or does not list, those of the host",
        {"sessiond": "deny,onlink,listed"}, goes_through(), EGRESS),
    Row("canary, for IPv4", {"sessiond": "canary"}, goes_through(), CANARY4),
    Row("canary, for IPv6", {"sessiond": "canary"}, goes_through(), CANARY6),
    Row("limit of connections", {"sessiond": "netlimit", "table": "inet atelier"},
        goes_through(), CONNECTIONS),
    Row("watch over the rules", {"sessiond": "netkeep"}, goes_through(), KEPT),
)
