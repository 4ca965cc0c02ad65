#!/usr/bin/python3 -IB
# SPDX-License-Identifier: ISC
# nss_table.py - what nss_rounds.c and nss_publish.c measured, as tables: medians, ratios, goals.
#
# Usage: nss_table.py [--json] LOOKUPS PUBLICATIONS
import json
import os
import statistics
import sys

FLOOR, OURS, OURS_FEW = "none", "atelier", "atelier-1000"
ROWS = {FLOOR: "no module", OURS: "atelier, 49,000", OURS_FEW: "atelier, 1,000",
        "files": "glibc files", "extrausers": "libnss-extrausers", "db": "libnss-db",
        "cache": "libnss-cache"}
# Operation: its title and unit. What starts a program is in milliseconds.
COLUMNS = {"name": ("by name", "us"), "uid": ("by uid", "us"), "miss-name": ("miss, name", "us"),
           "miss-uid": ("miss, uid", "us"), "outside": ("outside", "us"), "first": ("first", "us"),
           "initgroups": ("initgr.", "us"), "id": ("id", "ms"), "ls": ("ls -l", "ms"),
           "getent": ("getent", "ms")}
NS = {"us": 1e3, "ms": 1e6}
# DESIGN.md, "Fast": what atelier may cost, as a multiple of the same without a module.
GOALS = {"name": 1.4, "uid": 1.4, "first": 3.0, "initgroups": 1.1, "id": 1.2, "ls": 1.25}
GROWTH = ("name", "uid", "miss-name", "miss-uid", "initgroups", "first")
GROWTH_MAX = 1.2
PUBLISH_CPU_MAX_MS, PUBLISH_GROWTH_MAX = 10.0, 4.0  # the disk is the machine's


def percentile(times, share):
    """The nearest rank: a time that was measured, not one in between."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def lookups_read(path):
    times, syscalls = {}, {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            scene, operation, number = line.split()
            if operation.startswith("syscalls:"):
                syscalls.setdefault(scene, {})[operation.partition(":")[2]] = int(number)
            else:
                times.setdefault(scene, {}).setdefault(operation, []).append(int(number))
    return times, syscalls


def cells_of(times, syscalls):
    cells = {}
    for scene in (name for name in ROWS if name in times):
        for operation, (_, unit) in COLUMNS.items():
            samples = times[scene][operation]
            cells[scene, operation] = {
                "scene": scene, "operation": operation, "unit": unit, "samples": len(samples),
                "median": round(statistics.median(samples) / NS[unit], 3),
                "p99": round(percentile(samples, 0.99) / NS[unit], 3),
                "syscalls": syscalls[scene].get(operation)}
    return cells


def publications_read(path):
    samples = {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            directory, made, *numbers = line.split()
            among = int(os.path.basename(directory).rpartition("-")[2])
            samples.setdefault((int(made), among), []).append([int(number) for number in numbers])
    rows = []
    for (made, among), measured in sorted(samples.items()):
        wall, cpu, size = (statistics.median(column) for column in zip(*measured))
        rows.append({"made": made, "among": among, "samples": len(measured),
                     "median_ms": round(wall / 1e6, 3), "cpu_ms": round(cpu / 1e6, 3),
                     "written_bytes": int(size)})
    return rows


def goal(name, value, limit):
    return {"goal": name, "value": round(value, 3), "limit": limit, "holds": value <= limit}


def goals_of(cells, publications):
    def ratio(operation, over):
        return cells[OURS, operation]["median"] / cells[over, operation]["median"]

    goals = [goal(f"{COLUMNS[operation][0]}: x of no module", ratio(operation, FLOOR), limit)
             for operation, limit in GOALS.items()]
    goals += [goal(f"{COLUMNS[operation][0]}: 49,000 x of 1,000", ratio(operation, OURS_FEW),
                   GROWTH_MAX) for operation in GROWTH]
    goals.append(goal("outside: system calls of ours", cells[OURS, "outside"]["syscalls"] -
                      cells[FLOOR, "outside"]["syscalls"], 0))
    ones = [row for row in publications if row["made"] == 1]
    first, last = ones[0], ones[-1]
    goals.append(goal(f"one invitation among {last['among']:,}: cpu ms", last["cpu_ms"],
                      PUBLISH_CPU_MAX_MS))
    goals.append(goal(f"one invitation: {last['among']:,} x of {first['among']:,}",
                      last["median_ms"] / first["median_ms"], PUBLISH_GROWTH_MAX))
    return goals


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def grid(title, cell, scenes):
    print(f"{title:<20}" + "".join(f"{text:>11}" for text, _ in COLUMNS.values()))
    print(f"{'':<20}" + "".join(f"{unit:>11}" for _, unit in COLUMNS.values()))
    for scene in scenes:
        print(f"{ROWS[scene]:<20}" + "".join(f"{cell(scene, operation):>11}"
                                             for operation in COLUMNS))
    print()


def tables_print(cells, publications, goals):
    scenes = [scene for scene in ROWS if (scene, "name") in cells]
    grid("median", lambda *key: number(cells[key]["median"]), scenes)
    grid("p99", lambda *key: number(cells[key]["p99"]), scenes)
    grid("x of no module", lambda scene, operation: number(
        cells[scene, operation]["median"] / cells[FLOOR, operation]["median"]), scenes)
    grid("system calls", lambda *key: "" if cells[key]["syscalls"] is None else
         str(cells[key]["syscalls"]), scenes)
    print("not measured: sssd, which needs minutes to load so many users, if it does\n")
    print(f"{'invited':>8}{'among':>12}{'ms':>11}{'cpu ms':>11}{'written KiB':>13}")
    for row in publications:
        print(f"{row['made']:>8}{row['among']:>12,}{row['median_ms']:>11.2f}{row['cpu_ms']:>11.2f}"
              f"{row['written_bytes'] / 1024:>13,.0f}")
    print(f"\n{'goal':<44}{'value':>9}{'at most':>9}")
    for row in goals:
        print(f"{row['goal']:<44}{row['value']:>9.2f}{row['limit']:>9}  "
              f"{'holds' if row['holds'] else 'MISSES'}")


def main(arguments):
    cells = cells_of(*lookups_read(arguments[-2]))
    publications = publications_read(arguments[-1])
    goals = goals_of(cells, publications)
    if "--json" in arguments:
        print(json.dumps({"lookups": list(cells.values()), "publications": publications,
                          "goals": goals}, indent=2))
    else:
        tables_print(cells, publications, goals)


if __name__ == "__main__":
    main(sys.argv[1:])
