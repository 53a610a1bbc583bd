#!/usr/bin/env python3
"""hostile.py KIND OUT.sqlite [COMMAND]: exports of Nsight Systems that mean harm, or had an accident."""
import os
import sqlite3
import struct
import subprocess
import sys

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
COLUMNS = "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, " \
          "globalPid INTEGER, demangledName INTEGER"
HERE = os.path.dirname(os.path.abspath(__file__))


def connect(path):
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    db.execute("INSERT INTO StringIds VALUES (1, 'kernel')")
    return db


def large(path, rows=40000, padding=400):
    """More than the bytes that are kept in memory."""
    db = connect(path)
    db.execute("CREATE TABLE %s (%s, padding TEXT)" % (KERNEL, COLUMNS))
    db.executemany("INSERT INTO %s VALUES (?, ?, 0, 1, 7, ?, 0, 1, ?)" % KERNEL,
                   ((1000 * i, 1000 * i + 500, i + 1, "x" * padding) for i in range(rows)))
    db.commit()
    return db


def virtual(path):
    """Tables that a module of the library, or of nobody, would compute."""
    db = connect(path)
    db.execute("PRAGMA writable_schema = 1")
    for name, module in ((KERNEL, "fts5(start, end, deviceId, demangledName)"), ("NVTX_EVENTS", "csv(filename='/etc/hostname')"),
                         ("CUPTI_ACTIVITY_KIND_RUNTIME", "no_such_module(1)")):
        db.execute("INSERT INTO sqlite_master VALUES ('table', ?, ?, 0, ?)",
                   (name, name, "CREATE VIRTUAL TABLE %s USING %s" % (name, module)))
    db.commit()


def views(path):
    db = connect(path)
    db.execute("CREATE VIEW %s AS SELECT 1 AS start, 2 AS 'end', 0 AS deviceId, 1 AS demangledName" % KERNEL)
    db.execute("CREATE VIEW NVTX_EVENTS AS SELECT randomblob(1000000000) AS text, 1 AS start")
    db.commit()


def triggers(path):
    subprocess.check_call([sys.executable, os.path.join(HERE, "nsys_export.py"), "--schema", "3.24", path + ".tmp"])
    os.rename(path + ".tmp", path)
    db = sqlite3.connect(path)
    db.execute("CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN DELETE FROM %s; END" % KERNEL)
    db.execute("CREATE VIRTUAL TABLE f USING fts5(x)")
    db.execute("CREATE INDEX i ON %s (abs(start))" % KERNEL)
    db.commit()


def generated(path):
    db = connect(path)
    db.execute("CREATE TABLE %s (start INTEGER, deviceId INTEGER, streamId INTEGER, demangledName INTEGER, "
               "end INTEGER GENERATED ALWAYS AS (start + 500) VIRTUAL)" % KERNEL)
    db.execute("INSERT INTO %s (start, deviceId, streamId, demangledName) VALUES (1000, 0, 7, 1)" % KERNEL)
    db.commit()


def page(data, number):
    return 4096 * (number - 1)


def root_of(db):
    return db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (KERNEL,)).fetchone()[0]


def children(data, root):
    """The pages below the root of a table's tree."""
    at = page(data, root)
    kind, _, cells = struct.unpack(">BHH", data[at:at + 5])
    assert kind == 5, kind
    pointers = struct.unpack(">%dH" % cells, data[at + 12:at + 12 + 2 * cells])
    return [struct.unpack(">I", data[at + p:at + p + 4])[0] for p in pointers], [at + p for p in pointers]


def damaged(path):
    db = large(path)
    root = root_of(db)
    db.close()
    data = bytearray(open(path, "rb").read())
    middle = children(data, root)[0]
    leaves = children(data, middle[len(middle) // 2])[0] if data[page(data, middle[0])] == 5 else middle
    at = page(data, leaves[len(leaves) // 2])
    data[at:at + 64] = b"\xff" * 64
    open(path, "wb").write(data)


def loop(path):
    """Every child of the root is the root's first child."""
    db = large(path)
    root = root_of(db)
    db.close()
    data = bytearray(open(path, "rb").read())
    pages, places = children(data, root)
    for place in places:
        data[place:place + 4] = struct.pack(">I", pages[0])
    open(path, "wb").write(data)


def locked(path, command):
    db = large(path)
    db.isolation_level = None
    db.execute("PRAGMA cache_size = 2") # so that some of it is in the journal
    db.execute("BEGIN EXCLUSIVE")
    db.execute("UPDATE StringIds SET value = 'changed'")
    db.execute("CREATE TABLE more (x)")
    db.executemany("INSERT INTO more VALUES (?)", (("y" * 4000,) for _ in range(200)))
    sys.exit(subprocess.call(command, shell=True))


def foreign(path):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE people (name TEXT)")
    db.commit()


def types(path):
    db = connect(path)
    db.execute("CREATE TABLE %s (start, end, deviceId, streamId, demangledName)" % KERNEL)
    db.executemany("INSERT INTO %s VALUES (?, ?, ?, ?, ?)" % KERNEL,
                   [(1000, 2000, 0, 7, 1), (3000, 4000, "zero", b"seven", 99), (5000, "late", 0, 7, None),
                    (None, 6000, 0, 7, 1), (1 << 62, (1 << 62) + 5, 0, 7, 1)])
    db.execute("CREATE TABLE NVTX_EVENTS (other INTEGER)")
    db.execute("INSERT INTO NVTX_EVENTS VALUES (1)")
    db.commit()


globals()[sys.argv[1]](*sys.argv[2:])
