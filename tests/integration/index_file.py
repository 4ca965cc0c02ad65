# SPDX-License-Identifier: ISC
# index_file.py - writes index files as common/index_format.h has them, and such as it must never have.
import struct

MAGIC, VERSION = b"ATELIDX2", 2
HEADER, ENTRY = "<8sIIQIIII24x", "<BB2xI32s"
HEADER_SIZE, ENTRY_SIZE, SLOTS_MIN = struct.calcsize(HEADER), struct.calcsize(ENTRY), 16
NONE, USER, GROUP = 0, 1, 2
ID_MIN = 10000


def name_hash(name):
    """FNV-1a, the upper bits folded into the lower."""
    value = 2166136261
    for byte in name:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value ^ value >> 15


def entry(kind, name, shell=0, gids_at=0):
    return struct.pack(ENTRY, kind, shell, gids_at, name if isinstance(name, bytes) else name.encode())


def slot_table(names):
    """@names: (name, number of the entry)."""
    count = SLOTS_MIN
    while count < 2 * len(names):
        count *= 2
    slots = [0] * count
    for name, number in names:
        value = name_hash(name)
        at = value % count
        while slots[at]:
            at = (at + 1) % count
        slots[at] = value & 0xFFFF0000 | (number + 1) & 0xFFFF
    return slots


def build(users=(), groups=(), members=None, entries=None, slots=(), **header):
    """@users: (uid, name), @groups: (gid, name), @members: {name: [gid]}. What is forged:
    @entries: {id: bytes} instead of what would be there, @slots: (name, id) that are in the table as
    well; @header: what the header says instead of the truth."""
    gids, lists = [0], {}
    for name, of_user in (members or {}).items():
        lists[name] = len(gids)
        gids += [len(of_user), *of_user]
    table = {gid: entry(GROUP, name) for gid, name in groups}
    table.update({uid: entry(USER, name, gids_at=lists.get(name, 0)) for uid, name in users})
    table.update(entries or {})
    first, last = min(table, default=ID_MIN), max(table, default=ID_MIN - 1)
    names = [(name.encode(), number - first) for number, name in {**dict(groups), **dict(users)}.items()]
    names += [(name.encode(), number - first) for name, number in slots]
    hashed = slot_table(names)
    body = b"".join(table.get(number, bytes(ENTRY_SIZE)) for number in range(first, last + 1))
    body += struct.pack(f"<{len(hashed)}I", *hashed) + struct.pack(f"<{len(gids)}I", *gids)
    said = {"magic": MAGIC, "version": VERSION, "size_bytes": HEADER_SIZE + len(body), "generation": 1,
            "id_first": first, "entry_count": last + 1 - first, "slot_count": len(hashed),
            "gid_count": len(gids), **header}
    return struct.pack(HEADER, *said.values()) + body
