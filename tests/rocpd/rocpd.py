#!/usr/bin/env python3
"""rocpd.py LAYOUT OUT.db: a small recording in the layout of rocprofv3's database. LAYOUT is inline (times and places in the
events), tracks (places in rocpd_track) or spine (times in rocpd_timestamp, too). The same program in each."""
import os
import sqlite3
import sys

UUID = "_0000aaaa_bbbb_cccc_dddd_eeeeffff0000"
COMMON = {
    "metadata": "id INTEGER PRIMARY KEY AUTOINCREMENT, tag TEXT, value TEXT",
    "string": "id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT DEFAULT \"g\", string TEXT UNIQUE",
    "info_process": "id INTEGER PRIMARY KEY, nid INTEGER, ppid INTEGER, pid INTEGER, command TEXT",
    "info_thread": "id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, tid INTEGER, name TEXT",
    "info_agent": "id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, type TEXT CHECK (\"type\" IN ('CPU', 'GPU')), "
                  "absolute_index INTEGER, logical_index INTEGER, type_index INTEGER, name TEXT, product_name TEXT",
    "info_stream": "id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, name TEXT",
    "info_queue": "id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, name TEXT",
    "info_kernel_symbol": "id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT, arch_vgpr_count INTEGER, "
                          "group_segment_size INTEGER",
    "event": "id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, "
             "extdata JSONB DEFAULT \"{}\"",
}
TIMES = {"inline": "start BIGINT, end BIGINT", "tracks": "start BIGINT, end BIGINT", "spine": "start_id INTEGER, end_id INTEGER"}
PLACES = {"inline": "nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, queue_id INTEGER, stream_id INTEGER",
          "tracks": "track_id INTEGER", "spine": "track_id INTEGER"}
OWN = {
    "kernel_dispatch": "kernel_id INTEGER, dispatch_id INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER, "
                       "workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, "
                       "group_segment_size INTEGER, event_id INTEGER",
    "memory_copy": "name_id INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER, event_id INTEGER",
    "memory_allocate": "type TEXT, level TEXT, address INTEGER, size INTEGER, event_id INTEGER",
    "region": "name_id INTEGER, event_id INTEGER, extdata JSONB DEFAULT \"{}\"",
}


class Database:
    def __init__(self, layout, path):
        if os.path.exists(path):
            os.remove(path)
        self.layout, self.db, self.places, self.strings, self.times = layout, sqlite3.connect(path), {}, {}, 0
        self.db.execute("PRAGMA page_size = 512")
        tables = dict(COMMON)
        for name, own in OWN.items():
            tables[name] = "id INTEGER PRIMARY KEY AUTOINCREMENT, %s, %s, %s" % (PLACES[layout], TIMES[layout], own)
        tables["track"] = "id INTEGER PRIMARY KEY, " + PLACES["inline"]
        if layout == "spine":
            tables["timestamp"] = "id INTEGER PRIMARY KEY, value BIGINT, phase INTEGER, track_id INTEGER"
        if layout != "inline":
            tables["info_category"] = "id INTEGER PRIMARY KEY, name TEXT"
        for name, columns in tables.items():
            self.db.execute("CREATE TABLE rocpd_%s%s (%s)" % (name, UUID, columns))
            self.db.execute("CREATE VIEW rocpd_%s AS SELECT * FROM rocpd_%s%s" % (name, name, UUID))

    def put(self, table, **cells):
        self.db.execute("INSERT INTO rocpd_%s%s (%s) VALUES (%s)" % (
            table, UUID, ",".join('"%s"' % c for c in cells), ",".join("?" * len(cells))), list(cells.values()))

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.put("string", id=self.strings[text], string=text)
        return self.strings[text]

    def category(self, name):
        if self.layout == "inline":
            return self.string(name)
        if name not in self.places:
            self.places[name] = 100 + len(self.places)
            self.put("info_category", id=self.places[name], name=name)
        return self.places[name]

    def at(self, value):
        self.times += 1
        self.put("timestamp", id=self.times, value=value, phase=0, track_id=1)
        return self.times

    def event(self, table, place, start, end, **own):
        where = dict(zip(("nid", "pid", "tid", "agent_id", "queue_id", "stream_id"), (1,) + place))
        if self.layout != "inline":
            key = ("place",) + place
            if key not in self.places:
                self.places[key] = 1000 + len(self.places)
                self.put("track", id=self.places[key], **where)
            where = {"track_id": self.places[key]}
        when = {"start": start, "end": end}
        if self.layout == "spine":
            when = {"start_id": self.at(start), "end_id": self.at(end)}
        self.put(table, **where, **when, **own)


def main():
    d = Database(*sys.argv[1:])
    d.put("metadata", tag="schema_version", value={"inline": "3", "tracks": "4.1.0", "spine": "4.0.0"}[sys.argv[1]])
    d.put("info_process", id=1, nid=1, pid=900, command="/opt/app/train --secret x")
    d.put("info_thread", id=1, nid=1, pid=1, tid=900, name="main")
    d.put("info_agent", id=1, nid=1, pid=1, type="CPU", type_index=0, name="cpu")
    d.put("info_agent", id=2, nid=1, pid=1, type="GPU", type_index=0, name="gfx942", product_name="AMD Instinct MI300X")
    d.put("info_stream", id=3, nid=1, pid=1, name="Stream 3")
    d.put("info_queue", id=1, nid=1, pid=1, name="Queue 1")
    d.put("info_kernel_symbol", id=5, kernel_name="_Z3addPfS_.kd", display_name="add(float*, float*)", arch_vgpr_count=32,
          group_segment_size=0)
    d.put("info_kernel_symbol", id=6, kernel_name="ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", arch_vgpr_count=64)
    hip, marker, hsa = d.category("HIP_RUNTIME_API_EXT"), d.category("MARKER_CORE_RANGE_API"), d.category("HSA_CORE_API")
    for i, (category, stack) in enumerate([(hip, 10), (hip, 11), (hip, 0), (marker, 0), (hsa, 0), (hip, 12)], 1):
        d.put("event", id=i, category_id=category, stack_id=stack, parent_stack_id=0, correlation_id=0)
    host, work = (1, 1, None, None, None), (1, 1, 2, 1, 3)
    d.event("region", host, 1000, 1400, name_id=d.string("hipLaunchKernel"), event_id=1)
    d.event("region", host, 1500, 1600, name_id=d.string("hipMemcpyAsync"), event_id=2)
    d.event("region", host, 1100, 1200, name_id=d.string("hsa_signal_create"), event_id=5)
    d.event("region", host, 900, 2000, name_id=d.string("roctxRangePushA"), event_id=4, extdata='{"message": "step 1"}')
    d.event("region", host, 1700, 9000, name_id=d.string("hipDeviceSynchronize"), event_id=6)
    size = dict(workgroup_size_x=256, workgroup_size_y=1, workgroup_size_z=1, grid_size_x=1000, grid_size_y=2, grid_size_z=1)
    d.event("kernel_dispatch", work, 2000, 5000, kernel_id=5, dispatch_id=1, group_segment_size=512, event_id=1, **size)
    d.event("kernel_dispatch", work, 7000, 8000, kernel_id=6, dispatch_id=2, group_segment_size=0, event_id=3, **size)
    d.event("memory_copy", (1, 1, None, 1, 3), 5500, 6500, name_id=d.string("MEMORY_COPY_HOST_TO_DEVICE"), dst_agent_id=2,
            src_agent_id=1, size=4096, event_id=2)
    d.event("memory_allocate", (1, 1, 2, None, None), 500, 600, type="ALLOC", level="REAL", address=4096, size=1 << 20)
    d.event("memory_allocate", (1, 1, 2, None, None), 9500, 9600, type="FREE", level="REAL", address=4096, size=0)
    d.db.commit()


main()
