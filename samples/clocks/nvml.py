#!/usr/bin/env python3
"""nvml.py energy STOP: the energy counter of GPU $NVML_GPU every 100 ms until the file STOP is there: "ns of CLOCK_REALTIME, mJ".
nvml.py uses SECONDS: what each process uses, every second, as NVML has it."""
import ctypes
import os
import sys
import time

MOST = 8192


class Use(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("time_us", ctypes.c_ulonglong), ("sm", ctypes.c_uint), ("memory", ctypes.c_uint),
                ("encoder", ctypes.c_uint), ("decoder", ctypes.c_uint)]


def energy(nvml, device, stop):
    value = ctypes.c_ulonglong()
    while not os.path.exists(stop):
        before = time.time_ns()
        if nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value)) == 0:
            print((before + time.time_ns()) // 2, value.value)
        time.sleep(.1)


def uses(nvml, device, seconds):
    room, since, end = (Use * MOST)(), 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        n = ctypes.c_uint(MOST)
        code = nvml.nvmlDeviceGetProcessUtilization(device, room, ctypes.byref(n), ctypes.c_ulonglong(since))
        rows = [(u.pid, u.time_us, u.sm) for u in room[:n.value] if u.time_us] if code == 0 else []
        print(time.time_ns(), "code", code, "pid, us, %:", rows)
        since = max([since] + [row[1] for row in rows])
        time.sleep(1)


if __name__ == "__main__":
    library, handle = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
    if library.nvmlInit_v2() or library.nvmlDeviceGetHandleByIndex_v2(int(os.environ["NVML_GPU"]), ctypes.byref(handle)):
        sys.exit("nvml.py: no GPU %s" % os.environ["NVML_GPU"])
    {"energy": energy, "uses": uses}[sys.argv[1]](library, handle, sys.argv[2])
