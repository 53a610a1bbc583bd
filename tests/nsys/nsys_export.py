#!/usr/bin/env python3
"""nsys_export.py --schema 3.1|3.16|3.24 [--like TRACE.json] [--page-size N] OUT.sqlite

Writes an SQLite file in the layout of `nsys export --type sqlite`, without the exporter: the small program below, in
which every figure is chosen by hand, or the events of a Chrome trace that trace-convert wrote. Tables that would be
empty are left out, as the exporter does. Used by tests/cli/nsys.t."""
import argparse
import json
import re
import sqlite3
from decimal import Decimal

# Columns by table; a prefix is the first schema that has the column.
LAYOUT = {
    "StringIds": "id value:t",
    "META_DATA_EXPORT": "name:t value:t",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId contextId 3.16/greenContextId streamId correlationId globalPid "
        "demangledName shortName 3.16/mangledName launchType cacheConfig registersPerThread gridX gridY gridZ blockX "
        "blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId "
        "sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig 3.24/graphId 3.24/clusterX 3.24/clusterY 3.24/clusterZ",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start end deviceId contextId 3.16/greenContextId streamId correlationId globalPid "
        "bytes copyKind deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId "
        "migrationCause graphNodeId virtualAddress 3.24/copyCount",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start end deviceId contextId 3.16/greenContextId streamId correlationId globalPid "
        "value bytes graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId returnValue callchainId",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start end deviceId contextId 3.16/greenContextId streamId correlationId "
        "globalPid syncType eventId 3.24/eventSyncId",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "3.24/timestamp deviceId contextId 3.16/greenContextId streamId correlationId "
        "globalPid eventId 3.24/eventSyncId",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start end deviceId contextId 3.16/greenContextId streamId correlationId "
        "globalPid graphId graphExecId",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "start end eventClass globalTid correlationId nameId overheadType",
    "PROFILER_OVERHEAD": "start end globalTid correlationId nameId returnValue",
    "CUDA_GRAPH_NODE_EVENTS": "start end eventClass globalTid nameId graphNodeId originalGraphNodeId",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": "start globalPid deviceId contextId address pc bytes memKind memoryOperationType "
        "name:t correlationId 3.16/streamId 3.16/localMemoryPoolAddress 3.16/localMemoryPoolSize",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": "start globalPid address originalFaultPc CpuInstruction module",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": "start end globalPid deviceId address numberOfPageFaults faultAccessType",
    "NVTX_EVENTS": "start end eventType rangeId category color text:t globalTid endGlobalTid textId domainId "
        "uint64Value int64Value doubleValue:r uint32Value int32Value floatValue:r jsonTextId jsonText:t 3.16/binaryData:t "
        "3.24/eventId:k",
    "OSRT_API": "start end eventClass globalTid correlationId nameId returnValue nestingLevel callchainId",
    "TARGET_INFO_GPU": "vmId id name:t busLocation:t isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount "
        "pwGpuId uuid:t luid chipName:t cuDevice ctxswDevPath:t ctrlDevPath:t revision nvmlNumaNode computeMajor "
        "computeMinor threadsPerWarp maxWarpsPerSm maxRegistersPerSm maxRegistersPerBlock maxShmemPerSm maxShmemPerBlock "
        "maxShmemPerBlockOptin",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid uuid:t numMultiprocessors",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime:t localTime:t",
    "ThreadNames": "nameId priority globalTid",
    "PROCESSES": "globalPid pid name:t",
    "DIAGNOSTIC_EVENT": "timestamp timestampType source severity text:t globalPid",
    "TARGET_INFO_GPU_METRICS": "typeId sourceId typeName:t metricId metricName:t",
    "GPU_METRICS": "3.24/rawTimestamp timestamp typeId metricId value",
    "COMPOSITE_EVENTS": "id:k start cpu threadState globalTid cpuCycles",
    "SAMPLING_CALLCHAINS": "id symbol module kernelMode thumbCode unresolved specialEntry originalIP unwindMethod stackDepth",
    "MPI_RANKS": "globalTid rank",
}
ENUMS = {
    "ENUM_CUDA_MEMCPY_OPER": {1: "CUDA_MEMCPY_KIND_HTOD", 2: "CUDA_MEMCPY_KIND_DTOH", 8: "CUDA_MEMCPY_KIND_DTOD",
                              9: "CUDA_MEMCPY_KIND_HTOH", 10: "CUDA_MEMCPY_KIND_PTOP", 11: "CUDA_MEMCPY_KIND_UVM_HTOD",
                              12: "CUDA_MEMCPY_KIND_UVM_DTOH"},
    "ENUM_CUDA_MEM_KIND": {0: "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", 1: "CUDA_MEMOPR_MEMORY_KIND_PINNED",
                           2: "CUDA_MEMOPR_MEMORY_KIND_DEVICE", 3: "CUDA_MEMOPR_MEMORY_KIND_ARRAY",
                           4: "CUDA_MEMOPR_MEMORY_KIND_MANAGED", 5: "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC",
                           6: "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", 7: "CUDA_MEMOPR_MEMORY_KIND_UNKNOWN"},
    "ENUM_CUDA_DEV_MEM_EVENT_OPER": {0: "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", 1: "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION"},
    "ENUM_CUPTI_SYNC_TYPE": {1: "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE",
                             2: "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT",
                             3: "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE",
                             4: "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE"},
    "ENUM_NSYS_EVENT_TYPE": {33: "NvtxCategory", 34: "NvtxMark", 39: "NvtxThread", 59: "NvtxPushPopRange",
                             60: "NvtxStartEndRange", 75: "NvtxDomainCreate"},
}
MARK, PUSH_POP, START_END, DOMAIN = 34, 59, 60, 75
PRODUCTS = {"3.1": "2023.1.2.43", "3.16": "2024.6.2.225", "3.24": "2026.1.1.204"}


def number(version):
    return tuple(int(x) for x in version.split("."))


class Export:
    """Tables as they are filled; missing values are NULL."""

    def __init__(self, schema):
        self.schema, self.rows, self.strings = schema, {}, {}

    def columns(self, table):
        for spec in LAYOUT[table].split():
            first, _, rest = spec.rpartition("/")
            if not first or number(first) <= number(self.schema):
                name, _, kind = rest.partition(":")
                yield name, kind

    def text(self, value):
        return self.strings.setdefault(value, len(self.strings) + 1)

    def add(self, table, **cells):
        self.rows.setdefault(table, []).append(cells)

    def write(self, path, page_size=4096):
        self.add("META_DATA_EXPORT", name="EXPORT_PRODUCT_VERSION", value=PRODUCTS[self.schema])
        self.add("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value=self.schema + ".1")
        for value, i in self.strings.items():
            self.add("StringIds", id=i, value=value)
        db = sqlite3.connect(path)
        db.execute("PRAGMA page_size = %d" % page_size)
        types = {"": "INTEGER", "t": "TEXT", "r": "REAL", "k": "INTEGER NOT NULL PRIMARY KEY"}
        for table, rows in self.rows.items():
            columns = list(self.columns(table))
            db.execute("CREATE TABLE %s (%s)" % (table, ", ".join('"%s" %s' % (c, types[k]) for c, k in columns)))
            db.executemany("INSERT INTO %s VALUES (%s)" % (table, ",".join("?" * len(columns))),
                           [[row.get(c) for c, _ in columns] for row in rows])
        for table, names in ENUMS.items():
            db.execute("CREATE TABLE %s (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)" % table)
            db.executemany("INSERT INTO %s VALUES (?, ?, '')" % table, names.items())
        db.commit()
        db.close()


def gid(pid, tid=0):
    return 1 << 56 | pid << 24 | tid


# ---- the small program ----

def kernel(x, pid, device, stream, corr, start, end, name, **more):
    demangled = {"_Z3addPfS_": "add(float*, float*)"}.get(name, name)
    cells = dict(start=start, end=end, deviceId=device, contextId=1, streamId=stream, correlationId=corr, globalPid=gid(pid),
                 demangledName=x.text(demangled), shortName=x.text(demangled.split("(")[0]), mangledName=x.text(name),
                 registersPerThread=32, gridX=4, gridY=2, gridZ=1, blockX=128, blockY=1, blockZ=1, staticSharedMemory=16,
                 dynamicSharedMemory=48, localMemoryPerThread=0, localMemoryTotal=0, gridId=0)
    cells.update(more)
    x.add("CUPTI_ACTIVITY_KIND_KERNEL", **cells)


def call(x, pid, corr, start, end, name, tid=None):
    x.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0, globalTid=gid(pid, tid or pid),
          correlationId=corr, nameId=x.text(name), returnValue=0)


def program(x):
    """Two processes with a GPU each and the same correlation ids."""
    for pid, device in ((700, 0), (701, 1)):
        late = 100 if device else 0 # the second does the same, 100 ns later
        x.add("PROCESSES", globalPid=gid(pid), pid=pid, name="/opt/app/train")
        x.add("ThreadNames", nameId=x.text("main"), priority=0, globalTid=gid(pid, pid))
        x.add("TARGET_INFO_CUDA_DEVICE", gpuId=5 + device, cudaId=device, pid=pid, uuid="", numMultiprocessors=132)
        x.add("MPI_RANKS", globalTid=gid(pid, pid), rank=device)
        call(x, pid, 10, 1000 + late, 1500 + late, "cudaLaunchKernel_v7000")
        kernel(x, pid, device, 7, 10, 2000 + late, 5000 + late, "_Z3addPfS_")
        call(x, pid, 11, 1600 + late, 1900 + late, "cudaMemcpyAsync_v3020")
        x.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=5200 + late, end=6200 + late, deviceId=device, contextId=1, streamId=7,
              correlationId=11, globalPid=gid(pid), bytes=4096, copyKind=1, srcKind=0, dstKind=2)
    x.add("CUPTI_ACTIVITY_KIND_MEMSET", start=6300, end=6400, deviceId=0, contextId=1, streamId=7, correlationId=12,
          globalPid=gid(700), value=0, bytes=512, memKind=2)
    call(x, 700, 12, 1910, 1950, "cudaMemsetAsync_v3020")
    call(x, 700, 13, 1960, 8000, "cuCtxSynchronize")
    x.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=6500, end=6900, deviceId=0, contextId=1, streamId=7, correlationId=0,
          globalPid=gid(700), bytes=65536, copyKind=12, srcKind=4, dstKind=4, migrationCause=2, virtualAddress=65536)
    # a graph of two nodes, captured as 31 and 32 under "outer" and "inner", instantiated as 41 and 42
    graph = 3 << 32
    call(x, 700, 20, 9000, 9300, "cudaGraphLaunch_v10000")
    for i in (0, 1):
        kernel(x, 700, 0, 13, 20, 9500 + 1000 * i, 10000 + 1000 * i, "node", graphNodeId=graph | 41 + i, graphId=3)
        x.add("CUDA_GRAPH_NODE_EVENTS", start=310 + 10 * i, end=312 + 10 * i, eventClass=0, globalTid=gid(700, 700),
              nameId=x.text("cudaLaunchKernel"), graphNodeId=graph | 31 + i)
        x.add("CUDA_GRAPH_NODE_EVENTS", start=610 + 10 * i, end=612 + 10 * i, eventClass=0, globalTid=gid(700, 700),
              nameId=x.text("cudaGraphInstantiate"), graphNodeId=graph | 41 + i)
        x.add("CUDA_GRAPH_NODE_EVENTS", start=610 + 10 * i, end=612 + 10 * i, eventClass=0, globalTid=gid(700, 700),
              nameId=x.text("cudaGraphInstantiate"), graphNodeId=graph | 41 + i, originalGraphNodeId=graph | 31 + i)
    x.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=12000, end=12500, deviceId=0, contextId=1, streamId=13, correlationId=21,
          globalPid=gid(700), graphId=9, graphExecId=10)
    call(x, 700, 21, 11800, 11900, "cudaGraphLaunch_v10000")
    # NVTX: by text and by id, with and without a domain, open, started and ended
    nvtx = [(300, 400, PUSH_POP, "outer", None, 0, {}), (315, 340, PUSH_POP, None, "inner", 0, {}),
            (600, 700, PUSH_POP, "instantiate", None, 0, {}), (900, 9400, PUSH_POP, "step", None, 2, {}),
            (950, 990, START_END, "load", None, 0, {"int64Value": 7}),
            (960, 980, PUSH_POP, "aten::mm, seq = 3, op_id = 9, sizes = [[2, 3], [3, 4]]", None, 0, {}), (5000, None, PUSH_POP, "never popped", None, 0, {}),
            (5500, None, MARK, "here", None, 0, {"jsonText": '{"loss": 0.5}'}), (0, None, DOMAIN, "lib", None, 2, {})]
    for i, (start, end, kind, text, by_id, domain, more) in enumerate(nvtx):
        x.add("NVTX_EVENTS", start=start, end=end, eventType=kind, text=text, textId=x.text(by_id) if by_id else None,
              globalTid=gid(700, 700), domainId=domain, eventId=i + 1, **more)
    # an event that one stream records and another waits for, and a wait of the host
    call(x, 700, 30, 1951, 1953, "cudaEventRecord_v3020")
    call(x, 700, 31, 1954, 1956, "cudaStreamWaitEvent_v3020")
    x.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", timestamp=5000, deviceId=0, contextId=1, streamId=7, correlationId=30,
          globalPid=gid(700), eventId=2, eventSyncId=77)
    x.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=1954, end=1956, deviceId=0, contextId=1, streamId=13,
          correlationId=31, globalPid=gid(700), syncType=2, eventId=2, eventSyncId=77)
    x.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=1960, end=7900, deviceId=0, contextId=1, streamId=4294967295,
          correlationId=13, globalPid=gid(700), syncType=4, eventId=4294967295, eventSyncId=4294967295)
    for start, size, free in ((1700, 1 << 20, 0), (7000, 1 << 20, 1)):
        x.add("CUDA_GPU_MEMORY_USAGE_EVENTS", start=start, globalPid=gid(700), deviceId=0, contextId=1, address=4096, pc=0,
              bytes=size, memKind=2, memoryOperationType=free, correlationId=11)
    x.add("CUDA_UM_GPU_PAGE_FAULT_EVENTS", start=6450, end=6480, globalPid=gid(700), deviceId=0, address=65536,
          numberOfPageFaults=3, faultAccessType=2)
    x.add("CUDA_UM_CPU_PAGE_FAULT_EVENTS", start=6950, globalPid=gid(700), address=65536, CpuInstruction=0, module=0)
    x.add("OSRT_API", start=100, end=200, eventClass=0, globalTid=gid(700, 702), nameId=x.text("poll"), returnValue=0,
          callchainId=0)
    x.add("PROFILER_OVERHEAD" if x.schema == "3.1" else "CUPTI_ACTIVITY_KIND_OVERHEAD", start=50, end=80,
          globalTid=gid(700, 700), nameId=x.text("Buffer Flush"), overheadType=1)
    for i in (0, 1):
        x.add("TARGET_INFO_GPU", vmId=0, id=5 + i, name="NVIDIA H200", l2CacheSize=62914560, totalMemory=150109880320,
              memoryBandwidth=4814304000000, clockRate=1980000000, smCount=132, uuid="GPU-%d" % i, computeMajor=9,
              computeMinor=0, threadsPerWarp=32, maxWarpsPerSm=64, maxRegistersPerSm=65536)
    x.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1700000000000000000)
    x.add("TARGET_INFO_GPU_METRICS", typeId=1000 << 8, sourceId=1, typeName="g", metricId=3, metricName="SMs Active")
    x.add("GPU_METRICS", timestamp=3000, typeId=1000 << 8, metricId=3, value=88)
    x.add("TARGET_INFO_GPU_METRICS", typeId=1000 << 8 | 5, sourceId=1, typeName="g", metricId=4,
          metricName="GPC Clock Frequency [MHz]")
    for at, hz in ((1000, 1980000000), (3500, 1320000000), (13000, 1320000000)):
        x.add("GPU_METRICS", timestamp=at, typeId=1000 << 8 | 5, metricId=4, value=hz)
    x.add("COMPOSITE_EVENTS", id=1, start=250, cpu=0, threadState=0, globalTid=gid(700, 700), cpuCycles=1)
    for depth, name in enumerate(("inner_loop", "forward", "main")):
        x.add("SAMPLING_CALLCHAINS", id=1, symbol=x.text(name), module=0, stackDepth=depth)
    x.add("DIAGNOSTIC_EVENT", timestamp=1, severity=1, text="Process was launched by the profiler.")
    x.add("DIAGNOSTIC_EVENT", timestamp=9, severity=2, text="CUDA profiling might have dropped some events.")


# ---- the events of a Chrome trace ----

def ns(us):
    return int(Decimal(us) * 1000)


MEMORY_KINDS = ["Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown"]
COPIES = {"HtoD": 1, "DtoH": 2, "DtoD": 8, "HtoH": 9, "PtoP": 10}
WAITS = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}


class Like:
    def __init__(self, x, trace):
        self.x, self.trace = x, trace
        self.pids = {}  # pid of a row of GPU work -> pid of its process
        hosts = [e["pid"] for e in trace["traceEvents"] if e.get("cat") in ("cuda_runtime", "cuda_driver")]
        for e in trace["traceEvents"]:
            owner = re.search(r"\(process (\d+)\)", e.get("args", {}).get("name", "")) if e["ph"] == "M" else None
            if owner:
                self.pids[e["pid"]] = int(owner.group(1))
        self.host = hosts[0] if hosts else 1

    def work(self, e):
        a = e["args"]
        start = ns(e["ts"])
        return dict(start=start, end=start + ns(e.get("dur", 0)), deviceId=a.get("device", 0), contextId=a.get("context", 1),
                    streamId=a.get("stream", 4294967295) % (1 << 32), correlationId=a.get("correlation"),
                    globalPid=gid(self.pids.get(e["pid"], self.host)),
                    graphNodeId=a.get("graph node id"), graphId=a.get("graph id"))

    def kernel(self, e):
        a, x, name = e["args"], self.x, e["name"]
        shared = a.get("static shared memory", 0)
        self.x.add("CUPTI_ACTIVITY_KIND_KERNEL", demangledName=x.text(name), shortName=x.text(name), mangledName=x.text(name),
                   registersPerThread=a.get("registers per thread", 0), staticSharedMemory=shared,
                   dynamicSharedMemory=a.get("shared memory", 0) - shared,
                   localMemoryPerThread=a.get("local memory per thread", 0), localMemoryTotal=0, gridId=0,
                   **{k + c: v for k in ("grid", "block", "cluster") for c, v in zip("XYZ", a.get(k, []))}, **self.work(e))

    def copy(self, e):
        m = re.match(r"Memcpy (\w+) \((.+) -> (.+)\)", e["name"])
        kinds = dict(srcKind=MEMORY_KINDS.index(m.group(2)), dstKind=MEMORY_KINDS.index(m.group(3))) if m else {}
        kind = COPIES.get(e["name"].split()[1], 0)
        self.x.add("CUPTI_ACTIVITY_KIND_MEMCPY", bytes=e["args"].get("bytes", 0), copyKind=kind,
                   srcDeviceId=e["args"].get("fromDevice"), dstDeviceId=e["args"].get("toDevice"), **kinds, **self.work(e))

    def fill(self, e):
        kind = MEMORY_KINDS.index(re.match(r"Memset \((.+)\)", e["name"]).group(1))
        self.x.add("CUPTI_ACTIVITY_KIND_MEMSET", value=0, bytes=e["args"].get("bytes", 0), memKind=kind, **self.work(e))

    def call(self, e):
        start = ns(e["ts"])
        self.x.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=start + ns(e.get("dur", 0)), eventClass=0,
                   globalTid=gid(e["pid"], e["tid"]), correlationId=e["args"].get("correlation"),
                   nameId=self.x.text(e["name"]), returnValue=e["args"].get("return value", 0))

    def sync(self, e):
        cells = self.work(e)
        if e["cat"] == "cuda_event":
            self.x.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", timestamp=cells["start"], eventId=e["args"].get("event_id", 0),
                       **cells)
            return
        self.x.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", syncType=WAITS.get(e["name"], 0),
                   eventId=e["args"].get("wait_on_cuda_event_id", 4294967295), **cells)

    def overhead(self, e):
        start = ns(e["ts"])
        self.x.add("PROFILER_OVERHEAD" if self.x.schema == "3.1" else "CUPTI_ACTIVITY_KIND_OVERHEAD", start=start,
                   end=start + ns(e.get("dur", 0)), globalTid=gid(e["pid"], e["tid"]), nameId=self.x.text(e["name"]))

    def range(self, e):
        start = ns(e["ts"])
        extra = e.get("args", {})
        kind = START_END if extra.get("nvtx") == "start/end" else PUSH_POP
        extra = {k: v for k, v in extra.items() if k not in ("nvtx", "open", "cut")}
        self.x.add("NVTX_EVENTS", start=start, end=start + ns(e.get("dur", 0)), eventType=kind, text=e["name"],
                   globalTid=gid(e["pid"], e["tid"]), jsonText=json.dumps(extra) if extra else None,
                   eventId=len(self.x.rows.get("NVTX_EVENTS", [])) + 1)

    def all(self):
        kinds = {"kernel": self.kernel, "gpu_memcpy": self.copy, "gpu_memset": self.fill, "cuda_runtime": self.call,
                 "cuda_driver": self.call, "cuda_sync": self.sync, "cuda_event": self.sync, "overhead": self.overhead,
                 "user_annotation": self.range}
        for e in self.trace["traceEvents"]:
            if e["ph"] == "X" and e.get("cat") in kinds:
                kinds[e["cat"]](e)
        for i, d in enumerate(self.trace.get("deviceProperties", [])):
            self.x.add("TARGET_INFO_GPU", id=d["id"], name=d["name"], l2CacheSize=d.get("l2CacheSize"),
                       totalMemory=d.get("totalGlobalMem"), memoryBandwidth=d.get("memoryBandwidthBytesPerSecond"),
                       clockRate=d.get("coreClockKHz", 0) * 1000, smCount=d.get("numSms"), uuid=d.get("uuid"),
                       computeMajor=d.get("computeMajor"), computeMinor=d.get("computeMinor"), threadsPerWarp=32,
                       maxWarpsPerSm=d.get("maxThreadsPerMultiprocessor", 2048) // 32,
                       maxRegistersPerSm=d.get("regsPerMultiprocessor"), maxRegistersPerBlock=d.get("regsPerBlock"),
                       maxShmemPerSm=d.get("sharedMemPerMultiprocessor"), maxShmemPerBlock=d.get("sharedMemPerBlock"))



def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--schema", choices=PRODUCTS, required=True)
    parser.add_argument("--like", help="a Chrome trace of trace-convert")
    parser.add_argument("--page-size", type=int, default=4096)
    parser.add_argument("out")
    o = parser.parse_args()
    x = Export(o.schema)
    if o.like:
        with open(o.like, encoding="utf-8") as f:
            Like(x, json.load(f, parse_float=str)).all()
    else:
        program(x)
    x.write(o.out, o.page_size)


main()
