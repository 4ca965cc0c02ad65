#!/usr/bin/python3 -IB
# SPDX-License-Identifier: ISC
# table.py - the times of rounds.c, from standard input: medians, p99 and ratios.
#
# usage: table.py [--json] BEFORE AFTER: files with what /v1/healthz said, for the canary's cost.
import json
import statistics
import sys

WAYS = {"spawn": "posix_spawn, pipe, wait", "unshare": "unshare -p -m, setpriv",
        "atelier": "POST /v1/runs, all on"}
FLOOR = "spawn"


def percentile(times, share):
    """The nearest rank: a time that was measured, not one in between."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def rows_of(lines):
    times = {}
    for line in lines:
        program, way, nanoseconds = line.split()
        times.setdefault(program, {}).setdefault(way, []).append(int(nanoseconds) / 1e6)
    for program, ways in sorted(times.items()):
        floor = statistics.median(ways[FLOOR])
        for way in WAYS:
            median, p99 = statistics.median(ways[way]), percentile(ways[way], 0.99)
            yield {"program": program, "way": way, "rounds": len(ways[way]),
                   "median_ms": round(median, 4), "p99_ms": round(p99, 4),
                   "median_ratio": round(median / floor, 3), "p99_ratio": round(p99 / floor, 3),
                   "above_floor_ms": round(median - floor, 4)}


def canary_of(before, after):
    """Of the time between the two: processor time of probe, listener and sessiond for each run."""
    costs = []
    for path in (before, after):
        with open(path, encoding="utf-8") as file:
            costs.append(json.load(file)["canary_cost"])
    took = {key: costs[1][key] - costs[0][key] for key in costs[0]}
    cpu_us = sum(took[f"cpu_{part}_us"] for part in ("probe", "listener", "sessiond"))
    if took["asked"] <= 0 or took["rounds"] <= 0:
        return None
    return {"runs": took["asked"], "rounds": took["rounds"], "cpu_us_per_run": round(cpu_us / took["asked"], 2),
            "cpu_us_per_round": round(cpu_us / took["rounds"], 1),
            "wall_us_per_round": round(took["wall_us"] / took["rounds"], 1)}


def main():
    *options, before, after = sys.argv[1:]
    rows = list(rows_of(sys.stdin))
    canary = canary_of(before, after) if rows else None
    if not rows or not canary:
        print("table.py: nothing was measured", file=sys.stderr)
        return 1
    if options == ["--json"]:
        print(json.dumps({"floor": FLOOR, "rows": rows, "canary": canary}, indent=2))
        return 0
    print(f"{'program':<8} {'way':<24} {'rounds':>6} {'median ms':>9} {'p99 ms':>8} "
          f"{'x floor':>8} {'p99 x floor':>11}")
    for row in rows:
        print(f"{row['program']:<8} {WAYS[row['way']]:<24} {row['rounds']:>6} "
              f"{row['median_ms']:>9.3f} {row['p99_ms']:>8.3f} {row['median_ratio']:>8.2f} "
              f"{row['p99_ratio']:>11.2f}")
    print(f"canary: {canary['cpu_us_per_run']:.2f} us of processor time for each run "
          f"({canary['runs']} runs, {canary['rounds']} rounds of {canary['cpu_us_per_round']:.0f} us)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
