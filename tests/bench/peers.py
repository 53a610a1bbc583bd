"""peers.py -- what peers.sh runs: makes the inputs, lets gpuprof and its peers take turns, prints one table.
usage: peers.py SCRATCH [--rounds N] [BIN_DIR]"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys

from bench import HERE, Bench
from measure import machine, rounds_of

PYTHON = os.environ.get('PEERS_PYTHON', sys.executable)
JSON_WALK = 'import json, sys; print(sum(e.get("dur", 0) for e in json.load(open(sys.argv[1]))["traceEvents"]))'
HTA = ('import os, sys; os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"; from hta.trace_analysis import TraceAnalysis; '
       't = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=""); t.get_temporal_breakdown(visualize=False); '
       't.get_gpu_kernel_breakdown(visualize=False)')
TRACELENS = ('import sys; from TraceLens import TreePerfAnalyzer; t = TreePerfAnalyzer.from_file(sys.argv[1]); '
             't.get_df_gpu_timeline(); t.get_df_kernel_launchers_summary(t.get_df_kernel_launchers())')
BY_NAME = 'SELECT name, count(*), sum(dur_ns) FROM kernels GROUP BY 1 ORDER BY 3 DESC'
SLICES = 'SELECT name, count(*), sum(dur) FROM slice GROUP BY 1 ORDER BY 3 DESC'


def imports(module):
    done = subprocess.run([PYTHON, '-c', 'import ' + module], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return PYTHON if done.returncode == 0 else None


def jobs(bench):
    """(what, our command, [(peer, command or None)])"""
    walk, trace, out = bench.peer('simdjson_walk'), bench.json(), os.path.join(bench.scratch, 'out')
    hta = [bench.tool('trace-hta'), '-q', '-o', out + '.txt', trace]
    processor = shutil.which('trace_processor') or shutil.which('trace_processor_shell')
    folded = bench.file('stacks.folded', [sys.executable, os.path.join(HERE, 'make_folded.py'), '100000'])
    script = bench.peer('flamegraph.pl', 'FLAMEGRAPH_PL', '/usr/share/perl5/Devel/NYTProf/flamegraph.pl')
    sqlite = bench.file('big.sqlite', [bench.tool('trace-convert'), '-q', '--to', 'sqlite', '-o', 'OUT', trace])
    yield ('report of a PyTorch trace (JSON)', hta, [
        ("simdjson DOM, one walk", walk and [walk, trace]), ('simdjson On-Demand, one walk', walk and [walk, trace, 'demand']),
        ("Python's json, one sum", [sys.executable, '-c', JSON_WALK, trace]),
        ('HTA, two of its tables', imports('hta') and [PYTHON, '-c', HTA, trace]),
        ('TraceLens, two of its tables', imports('TraceLens') and [PYTHON, '-c', TRACELENS, trace]),
        ('trace_processor, one query', processor and [processor, '-Q', SLICES, trace])])
    yield ('the same from our format', hta[:-1] + [bench.trace()], [("simdjson DOM, one walk", walk and [walk, trace])])
    yield ('flame graph of 100,000 folded stacks', [bench.tool('trace2flame'), '-q', '-o', out + '.svg', folded],
           [('flamegraph.pl', script and [script, folded])])
    query = [bench.tool('trace-query'), '-q', bench.trace(), BY_NAME]
    yield ('SQL: time by kernel, from our format', query,
           [('sqlite3, of the same tables', shutil.which('sqlite3') and ['sqlite3', sqlite, BY_NAME])])


def main():
    parser = argparse.ArgumentParser(prog='tests/bench/peers.sh')
    parser.add_argument('scratch', help=argparse.SUPPRESS)
    parser.add_argument('--rounds', type=int, default=5, help='runs of every command (default: 5)')
    parser.add_argument('bin', nargs='?', default=os.path.join(HERE, '../../build/release/bin'), help='the built tools')
    options = parser.parse_intermixed_args()
    options.trace = None
    bench = Bench(options)
    rows, missing = [], []
    for what, ours, peers in jobs(bench):
        missing += [name for name, command in peers if not command]
        peers = [(name, command) for name, command in peers if command]
        runs = rounds_of([ours] + [command for _, command in peers], options.rounds)
        for (name, _), peer in zip(peers, runs[1:]):
            cells = [what, name]
            for column in (0, 1):  # wall time, processor time: the median of either, and of the pairs
                mine, other = [r[column] for r in runs[0]], [r[column] for r in peer]
                pairs = sorted(a / b for a, b in zip(mine, other))
                cells += ['%.3f / %.3f' % (statistics.median(mine), statistics.median(other)),
                          '%.3f (%.3f to %.3f)' % (statistics.median(pairs), pairs[0], pairs[-1])]
            cells.append('%.0f / %.0f' % tuple(statistics.median(r[2] for r in side) / 1e6 for side in (runs[0], peer)))
            rows.append(cells)
    print('%s at the end; %s; %d bytes, %d rounds in turn' % (machine(), os.path.basename(bench.sample), os.path.getsize(bench.json()),
                                                              options.rounds))
    if missing:
        print('not installed: ' + ', '.join(sorted(set(missing))))
    print('\n| job | peer | wall, s: gpuprof / peer | ratio of pairs | processor, s | ratio of pairs | peak MB |\n|' + '---|' * 7)
    for cells in rows:
        print('| ' + ' | '.join(cells) + ' |')


main()
