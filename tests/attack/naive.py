# SPDX-License-Identifier: ISC
# naive.py - the rules of a recipe and ours, one after the other, in network namespaces of its own.
#
# naive.py OURS_V4 OURS_V6 SET_GID_PYTHON: prints, as JSON, for each set of rules what uid 30000 gets.
# OURS_*: the output of iptables-save on the host. Started by test_naive.py under unshare(1): all
# that it starts ends with its PID namespace.
import json
import os
import socket
import subprocess
import sys

import network
import where

UID = 30000
RANGE = "10000-65000"
LOCAL_NETWORKS = ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16")
TARGETS = ("tcp:127.0.0.1", "tcp:::ffff:127.0.0.1", "tcp:10.9.0.2", "tcp:172.16.9.2",
           "tcp:192.168.9.2", "tcp:169.254.169.254", "tcp:203.0.113.5", "tcp:198.51.100.1",
           "tcp:100.64.0.1", "tcp:::1", "tcp:::", "tcp:2001:db8:1::1", "tcp:fd00:9::1",
           "tcp:fd00:9::2", "send:198.51.100.255", "send:255.255.255.255", "send:224.0.0.1",
           "send:ff02::1%lab0")
INTERNET = ("tcp:198.51.100.2", "tcp:2001:db8:1::2")
SET_GID = "tcp:127.0.0.1 by a set-gid program"
TAKEN_OVER = "udp:10.9.0.2 by a flow of root's"
FLOW_PORT = 40000
# On most hosts, and above whatever a recipe appends.
ESTABLISHED = ("-m", "conntrack", "--ctstate", "ESTABLISHED,RELATED", "-j", "ACCEPT")


def tool(*argv, text=None):
    subprocess.run(argv, input=text, text=True, check=True, stdout=subprocess.DEVNULL)


def recipe(match):
    tool("iptables", "-A", "OUTPUT", *ESTABLISHED)
    for destination in LOCAL_NETWORKS:
        tool("iptables", "-A", "OUTPUT", "-m", "owner", match, RANGE, "-d", destination, "-j",
             "REJECT")


def ours(rules):
    for family in ("iptables", "ip6tables"):
        tool(f"{family}-restore", text=rules[family])
    tool("iptables", "-A", "OUTPUT", *ESTABLISHED)


def root_had_a_flow():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("10.9.0.1", FLOW_PORT))
        sock.settimeout(2)
        sock.sendto(b"?", ("10.9.0.2", 7778))
        sock.recv(100)


def reached(python):
    said = where.plain(UID, "reach", *TARGETS, *INTERNET)
    got = json.loads(said.removeprefix("through "))
    said = where.plain(UID, "reach", "tcp:127.0.0.1", python=python)
    got[SET_GID] = json.loads(said.removeprefix("through "))["tcp:127.0.0.1"]
    root_had_a_flow()
    got[TAKEN_OVER] = where.plain(UID, "taken_over", f"10.9.0.1:{FLOW_PORT}", "10.9.0.2")
    return got


def main():
    rules = {}
    for family, path in zip(("iptables", "ip6tables"), sys.argv[1:3]):
        with open(path, encoding="utf-8") as file:
            rules[family] = file.read()
    world = network.start_world()
    network.up(world)
    network.start_answerers(world)
    network.wait_reachable()
    found = {}
    for name, load in (("no rules", lambda: None), ("uid-owner", lambda: recipe("--uid-owner")),
                       ("gid-owner", lambda: recipe("--gid-owner")), ("atelier", lambda: ours(rules))):
        for family in ("iptables", "ip6tables"):
            tool(family, "-F")
            tool(family, "-X")
        load()
        found[name] = reached(sys.argv[3])
    print(json.dumps(found), flush=True)
    os.kill(world, 9)


if __name__ == "__main__":
    main()
