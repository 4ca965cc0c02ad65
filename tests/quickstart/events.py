#!/usr/bin/python3 -IB
# SPDX-License-Identifier: ISC
# events.py - the events of a run, from standard input: for people, or one value for a script.
import argparse
import base64
import json
import os
import sys


def text_of(event):
    if "b64" in event:
        return base64.b64decode(event["b64"]).decode("utf-8", "backslashreplace")
    return event["d"]


def receipt_lines(event):
    receipt = event["receipt"]
    masks = {int(mask, 16) for mask in receipt["capabilities"].values()}
    own = [name for name, space in receipt["namespaces"].items() if space["own"]]
    return [f"pid {event['pid']}, UID {receipt['uid'][0]}; own namespaces: {' '.join(own)}",
            ", ".join(["no capabilities" if masks == {0} else "CAPABILITIES",
                       "no new privileges" if receipt["no_new_privs"] == 1 else "NEW PRIVILEGES",
                       "system calls filtered" if receipt["seccomp"] == 2 else "NO FILTER"])]


def lines_of(event):
    """What people read of one event."""
    kind = event["ev"]
    if kind == "accepted":
        return ["{} (UID {}), network {}".format(event["user"], event["uid"], event["net"])]
    if kind == "start":
        return receipt_lines(event)
    if kind == "out":
        return text_of(event).strip("\n").splitlines()  # Python writes a line's end by itself
    if kind == "note":
        return [event["code"]]
    if kind == "end":
        usage = event["usage"]
        return ["{}, exit {}, {} ms, {} MiB".format(
            event["status"], event["exit"], usage["wall_ms"], usage["rss_peak_kb"] // 1024)]
    return [json.dumps(event)]


def show(event, dim, plain):
    if "ev" not in event:
        print(f"    {json.dumps(event)}", flush=True)
        return
    head = f"{event['t_ms']:5} ms  {event['ev']:<9}"
    for line in lines_of(event):
        print(f"    {dim}{head}{plain} {line}", flush=True)
        head = " " * len(head)


def get(events, keys):
    """The value below @keys in the last event of that kind; of `out` all the text of stream 1."""
    chosen = [event for event in events if event.get("ev") == keys[0]]
    if keys[0] == "out":
        return "".join(text_of(event) for event in chosen if event["s"] == 1).rstrip("\n")
    value = chosen[-1]
    for key in keys[1:]:
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value if isinstance(value, str) else json.dumps(value)


def main():
    parser = argparse.ArgumentParser(description="Show the events of a run as they come.")
    parser.add_argument("--colour", action="store_true")
    parser.add_argument("--get", nargs="+", metavar="KEY", help="print one value: EVENT KEY...")
    options = parser.parse_args()
    events = (json.loads(line) for line in sys.stdin if line.strip())
    if options.get:
        try:
            print(get(events, options.get))
        except (LookupError, ValueError, TypeError):
            return 1
        return 0
    dim, plain = ("\033[2m", "\033[0m") if options.colour else ("", "")
    for event in events:
        show(event, dim, plain)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        os._exit(1)
