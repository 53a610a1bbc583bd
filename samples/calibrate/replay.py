#!/usr/bin/env python3
"""Takes the place of gpuprof-bench (GPUPROF_BENCH) and writes the lines that h200.sweep.json was made of: a device measured once
can be drawn again. Of each size it writes five times that have the same median and quartiles."""
import json
import os
import sys

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'h200.sweep.json')) as f:
    document = json.load(f)
ceilings = document['ceilings']
what = sys.argv[1]
print('fact devices 1')
print('fact device', ceilings['device'])
print('fact l2_bytes', ceilings['l2_bytes'])
if what == 'figures':
    print('figure memory_copy', ceilings['memory_bytes_per_s'])
    for name, value in ceilings['flops_per_s'].items():
        print('figure', name, value)
if what == 'op':
    for sweep in document['sweeps']:
        if sweep['op'] == sys.argv[4] and sweep['type'] == sys.argv[5]:
            for p in sweep['points']:
                print('op', sweep['op'], sweep['type'], p['elements'], p['bytes'], p['flops'],
                      p['low_ns'], p['low_ns'], p['ns'], p['high_ns'], p['high_ns'])
print('fact end')
