# SPDX-License-Identifier: ISC
# cdb.py - writes index files as common/index_format.h has them, and such as it must never have.
import struct

MAGIC, VERSION = b"ATELIDX1", 1
TABLES, META_AT = 256, 2048


def key_hash(key):
    """https://cr.yp.to/cdb/cdb.txt"""
    value = 5381
    for byte in key:
        value = (((value << 5) + value) ^ byte) & 0xFFFFFFFF
    return value


def pack(records):
    """One cdb file of (key, data) pairs, in this order."""
    body, tables, position = [], [[] for _ in range(TABLES)], META_AT
    for key, data in records:
        value = key_hash(key)
        tables[value & 255].append((value, position))
        entry = struct.pack("<II", len(key), len(data)) + key + data
        body.append(entry)
        position += len(entry)
    head, slots_text = [], []
    for table in tables:
        count = 2 * len(table)
        head.append(struct.pack("<II", position, count))
        slots = [(0, 0)] * count
        for value, record in table:
            slot = (value >> 8) % count
            while slots[slot][1]:
                slot = (slot + 1) % count
            slots[slot] = (value, record)
        slots_text.append(b"".join(struct.pack("<II", *slot) for slot in slots))
        position += 8 * count
    return b"".join(head + body + slots_text)


def user(uid, name, gid=None, shell=0):
    return struct.pack("<III32s", uid, uid if gid is None else gid, shell, name.encode())


def group(gid, name):
    return struct.pack("<I32s", gid, name.encode())


def by_id(tag, number):
    return tag + struct.pack("<I", number)


def build(users=(), groups=(), members=None, extra=(), **meta):
    """@users: (uid, name), @groups: (gid, name), @members: {name: [gid]}, @extra: (key, data);
    @meta: what the meta record says instead of the truth."""
    records = [(by_id(b"u", uid), user(uid, name)) for uid, name in users]
    records += [(by_id(b"g", gid), group(gid, name)) for gid, name in groups]
    records += [(b"n" + name.encode(), user(uid, name)) for uid, name in users]
    records += [(b"G" + name.encode(), group(gid, name)) for gid, name in groups]
    records += [(b"m" + name.encode(), b"".join(struct.pack("<I", gid) for gid in gids))
                for name, gids in (members or {}).items()]
    records += list(extra)

    def file_of(size):
        said = {"magic": MAGIC, "version": VERSION, "size": size, "generation": 1,
                "user_count": len(users), "group_count": len(groups), **meta}
        head = struct.pack("<8sIIQII", said["magic"], said["version"], said["size"],
                           said["generation"], said["user_count"], said["group_count"])
        return pack([(b"@", head), *records])

    return file_of(len(file_of(0)))
