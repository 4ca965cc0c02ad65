#!/usr/bin/python3 -IB
# SPDX-License-Identifier: ISC
# welcome.py - keeps the lab up for visitors: says how to log in, who comes and goes, until Ctrl-C.
#
# Usage: welcome.py [--colour] PORT NAME... A code that was used is followed by the next one.
import argparse
import http.client
import json
import socket
import subprocess
import sys
import time

ADMIN = "/run/atelier/admin.sock"
LOOK_EVERY_S = 0.5


class Admin(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(ADMIN)


def look(what, value):
    """{id: @value} of "sessions" or "links", None if nobody answers."""
    connection = Admin("localhost", timeout=5)
    try:
        connection.request("GET", f"/v1/{what}")
        answer = json.load(connection.getresponse())
        return {each["id"]: each[value] for each in answer[what]}
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return None
    finally:
        connection.close()


def invite(name):
    """(id of the link, its code)"""
    result = subprocess.run(["atelier", "invite", "--json", f"{name}@example.org"],
                            capture_output=True, text=True, check=False)
    try:
        answer = json.loads(result.stdout)
        return answer["id"], answer["code"]
    except (ValueError, KeyError):
        return None, f"none: {result.stderr.strip()}"


def say(name, text):
    print(f"  {time.strftime('%H:%M:%S')}  {name:<8} {text}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--colour", action="store_true")
    parser.add_argument("port")
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    bold, dim, plain = ("\033[1m", "\033[2m", "\033[0m") if options.colour else ("", "", "")

    print(f"\n{bold}Your turn: in another terminal of this machine{plain}")
    links = {}
    for name in options.names:
        command = f"ssh -p {options.port} {name}@127.0.0.1"
        links[name], code = invite(name)
        print(f"  {command:<34} code  {bold}{code}{plain}")
    print(f"  {dim}each lab has a new host key; if ssh minds: "
          f"-o NoHostAuthenticationForLocalhost=yes{plain}")
    print("\n  Ctrl-C ends the lab and everything in it.", flush=True)
    known = look("sessions", "user") or {}
    while True:
        time.sleep(LOOK_EVERY_S)
        now, states = look("sessions", "user"), look("links", "state")
        if now is None or states is None:
            continue
        for name, link in links.items():
            if link and states.get(link) != "open":
                links[name], code = invite(name)
                say(name, f"has used the code; the next one  {bold}{code}{plain}")
        for each in now.keys() - known.keys():
            say(now[each], "is in")
        for each in known.keys() - now.keys():
            say(known[each], "has left; nothing of the session runs any more")
        known = now


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\n  The lab is gone, and everything in it.")
        sys.exit(0)
