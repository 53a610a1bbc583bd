"""bench.py -- what run.sh runs: makes the inputs, measures, prints. usage: bench.py SCRATCH [OPTIONS] [BIN_DIR]"""
import argparse
import glob
import os
import shutil
import statistics
import subprocess
import sys

from measure import compare, machine

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MEGABYTES = 150
FOLDED_LINES = 1000000
COMPILE_MEGABYTES = 15
SNAPSHOT_ENTRIES = 1818000
METRIC_LAUNCHES = 1000000


class Bench:
    def __init__(self, options):
        self.scratch = options.scratch
        self.bin = os.path.abspath(options.bin)
        self.rounds = options.rounds
        self.sample = options.trace or self.find_sample()
        self.made = {}

    def find_sample(self):
        """The largest committed Kineto trace."""
        found = []
        for folder, _, names in os.walk(os.path.join(ROOT, 'samples')):
            found += [os.path.join(folder, n) for n in names if n.endswith(('.json', '.json.gz'))]
        found = [f for f in found if '/broken/' not in f]
        return max(found, key=os.path.getsize) if found else None

    def tool(self, name):
        path = os.path.join(self.bin, name)
        return path if os.access(path, os.X_OK) else None

    def own(self, name):
        """A program of ours that is no tool; it is built beside the unit tests."""
        path = os.path.join(os.path.dirname(self.bin), 'tests', name)
        return path if os.access(path, os.X_OK) else None

    def peer(self, name, variable=None, elsewhere=''):
        for path in (os.environ.get(variable or ''), shutil.which(name), os.path.join(self.scratch, name), elsewhere):
            if path and os.access(path, os.X_OK):
                return path
        print('skipped: %s is missing' % name)
        return None

    def file(self, name, command):
        """SCRATCH/NAME, made by COMMAND, in which OUT stands for it; or from its output."""
        path = os.path.join(self.scratch, name)
        if name not in self.made:
            self.made[name] = path
            if 'OUT' in command:
                subprocess.run([path if word == 'OUT' else word for word in command], check=True)
            else:
                with open(path, 'wb') as out:
                    subprocess.run(command, check=True, stdout=out)
        return path

    def json(self):
        return self.file('big.json', [sys.executable, os.path.join(HERE, 'enlarge.py'), self.sample, 'OUT',
                                      str(MEGABYTES)])

    def trace(self):
        return self.file('big.trace', [self.tool('trace-convert'), '-q', '-o', 'OUT', self.json()])

    def events(self):
        said = subprocess.run([self.tool('trace-convert'), '-v', '-o', '/dev/null', self.json()], check=True,
                              stderr=subprocess.PIPE, text=True).stderr
        return int(said.split(' bytes, ')[1].split(' events')[0])


def shown(command):
    return '    $ ' + ' '.join(os.path.basename(word) if '/' in word else word for word in command)


def seconds(figure):
    return '%.3f s (fastest %.3f)' % (figure.seconds, figure.fastest)


def report(name, ours, peers, aim):
    """OURS and PEERS: (command, figure). Prints the figures and the ratio to the first peer."""
    print('%s: %s, peak %.0f MB' % (name, seconds(ours[1]), ours[1].peak_bytes / 1e6))
    print(shown(ours[0]))
    for command, figure in peers:
        print('  peer %s, peak %.0f MB: ratio %.3f%s' % (seconds(figure), figure.peak_bytes / 1e6,
                                                       ours[1].seconds / figure.seconds, aim))
        print(shown(command))


def run_against(bench, name, ours, peers, aim, rounds=None):
    figures = compare([ours] + peers, rounds or bench.rounds, warm_up=rounds is None)
    report(name, (ours, figures[0]), list(zip(peers, figures[1:])), aim)
    return figures


def bench_convert(bench):
    ours = [bench.tool('trace-convert'), '--to', 'gpuprof', '-o', os.path.join(bench.scratch, 'out.trace'), bench.json()]
    peer = bench.peer('simdjson_walk')
    figures = run_against(bench, 'convert', ours, [[peer, bench.json()]] if peer else [], ' (aim: at most 0.5)')
    events = bench.events()
    size = os.path.getsize(bench.json())
    print('  %d bytes, %d events, %.2f GB/s; peak memory %.1f bytes an event (aim: at most 100)' %
          (size, events, size / figures[0].seconds / 1e9, figures[0].peak_bytes / events))


def bench_gzip(bench):
    packed = bench.file('big.json.gz', ['gzip', '-c', bench.json()])
    ours = [bench.tool('trace-convert'), '--to', 'gpuprof', '-o', os.path.join(bench.scratch, 'out.trace'), packed]
    run_against(bench, 'gzip', ours, [['gzip', '-dc', packed]], '')


def bench_write(bench):
    out = os.path.join(bench.scratch, 'back.json')
    ours = [bench.tool('trace-convert'), '--to', 'chrome', '-o', out, bench.trace()]
    figures = run_against(bench, 'write', ours, [], '')
    size = os.path.getsize(out)
    print('  %d bytes, %.2f GB/s' % (size, size / figures[0].seconds / 1e9))
    os.unlink(out)


def bench_perfetto(bench):
    ours, make = bench.tool('trace-convert'), bench.own('make_trace')
    if not make:
        print('skipped: make_trace is missing')
        return
    trace = bench.file('perfetto.trace', [make, '3000000'])  # of these events, a third are kernels
    outs = [os.path.join(bench.scratch, 'out.' + name) for name in ('pftrace', 'json')]
    commands = [[ours, '-q', '--to', name, '-o', out, trace] for name, out in zip(('perfetto', 'chrome'), outs)]
    run_against(bench, 'perfetto', commands[0], [commands[1]], ' (aim: at most 0.5 s for a million kernels)')
    print('  %d bytes' % os.path.getsize(outs[0]))
    for out in outs:
        os.unlink(out)


def bench_decode(bench):
    ours, peer = bench.own('bench_gpt'), bench.peer('simdjson_walk')
    if not ours:
        print('skipped: bench_gpt is missing')
    if not ours or not peer:
        return
    commands = [[ours, bench.trace(), '10'], [peer, bench.json(), '4']]
    times = {}
    for _ in range(max(1, bench.rounds // 2)):  # in turn; each decodes several times in its process
        for command in commands:
            said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            for line in said.splitlines():
                what, ms, _ = line.split()
                times.setdefault(what, []).append(float(ms))
    decode, fresh, hot = (statistics.median(times[what]) for what in ('decode', 'fresh', 'hot'))
    print('decode: %.3f ms in memory that is new every time\n%s' % (decode, shown(commands[0])))
    print('  peer %.1f ms with a new parser: %.1f times as fast (aim: at least 40); %.1f ms with one that has its '
          'memory: %.1f times\n%s' % (fresh, fresh / decode, hot, hot / decode, shown(commands[1])))


def bench_size(bench):
    ours = bench.own('bench_gpt')
    if not ours:
        print('skipped: bench_gpt is missing')
        return
    command = [ours, '-s', bench.sample]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    print('size: %s (aim: at most 12 B/launch)\n%s' % (' '.join(said.split()), shown(command)))


def bench_hta(bench):
    ours, peer = bench.tool('trace-hta'), bench.peer('simdjson_walk')
    if not ours:
        print('skipped: trace-hta is missing')
        return
    out = os.path.join(bench.scratch, 'hta.txt')
    peers = [[peer, bench.json()]] if peer else []
    figures = run_against(bench, 'hta', [ours, '-q', '-o', out, bench.json()], peers, ' (aim: at most 0.6)')
    print('  peak memory %.1f bytes an event (aim: at most 60)' % (figures[0].peak_bytes / bench.events()))
    run_against(bench, 'hta of the binary trace', [ours, '-q', '-o', out, bench.trace()], peers,
                ' (aim: at most %.3f)' % (1 / 15))
    small = bench.file('small.json', [sys.executable, os.path.join(HERE, 'enlarge.py'), bench.sample, 'OUT',
                                      str(MEGABYTES // 10)])
    one, ten = compare([[ours, '-q', '-o', out, path] for path in (small, bench.json())], bench.rounds)
    times = os.path.getsize(bench.json()) / os.path.getsize(small)
    print('hta of %.1f times the events: %s against %s: %.1f times the time (aim: at most 11 for 10)' %
          (times, seconds(ten), seconds(one), ten.seconds / one.seconds))


def bench_suggest(bench):
    ours, hta = bench.tool('trace-suggest'), bench.tool('trace-hta')
    if not ours or not hta:
        print('skipped: trace-suggest or trace-hta is missing')
        return
    out = os.path.join(bench.scratch, 'suggest.txt')
    long_trace = os.path.join(HERE, '..', '..', 'samples', 'long', 'train.trace')
    for path in (bench.json(), bench.sample, long_trace):
        run_against(bench, 'suggest of ' + os.path.basename(path), [ours, '-q', '-o', out, path],
                    [[hta, '-q', '-o', os.path.join(bench.scratch, 'hta.txt'), path]], ' (aim: at most 1.5)')


def bench_flame(bench):
    ours = bench.tool('trace2flame')
    if not ours:
        print('skipped: trace2flame is missing')
        return
    folded = bench.file('stacks.folded', [sys.executable, os.path.join(HERE, 'make_folded.py'), str(FOLDED_LINES)])
    command = [ours, '-o', os.path.join(bench.scratch, 'out.svg'), folded]
    inferno = bench.peer('inferno-flamegraph')
    run_against(bench, 'flame', command, [[inferno, folded]] if inferno else [], '')
    script = bench.peer('flamegraph.pl', 'FLAMEGRAPH_PL', '/usr/share/perl5/Devel/NYTProf/flamegraph.pl')
    if script:
        run_against(bench, 'flame against flamegraph.pl, once', command, [[script, folded]], '', rounds=1)
    print('  (aim: at most 1.5 s and 400 MB)')
    if bench.peer('node') and bench.peer('chromium'):
        picture = bench.file('zoom.svg', [ours, folded])
        said = subprocess.run(['node', os.path.join(HERE, 'flame_zoom.js'), picture], check=True, stdout=subprocess.PIPE, text=True)
        print('  ' + said.stdout.strip() + ' (aim: 100 ms)')


def bench_timeline(bench):
    ours, make, hta = bench.tool('trace2timeline'), bench.own('make_trace'), bench.tool('trace-hta')
    if not ours or not make or not hta:
        print('skipped: trace2timeline, trace-hta or make_trace is missing')
        return
    for events in (1000000, 10000000):
        trace = bench.file('%d.trace' % events, [make, str(events)])
        page = os.path.join(bench.scratch, '%d.html' % events)
        command = [ours, '-q', '--no-args', '-o', page, trace]
        peer = [hta, '-q', '-o', os.path.join(bench.scratch, 'hta.txt'), trace]
        mine, other = compare([command, peer], 3)
        report('timeline', (command, mine), [(peer, other)], ' (aim: at most 1.5, and 0.3 s a million events)')
        print('  that would be %.3f s' % (1.5 * other.seconds + 0.3 * events / 1e6))
        print('  %.2f bytes an event (aim: at most 6)' % (os.path.getsize(page) / events))
        if bench.peer('node') and bench.peer('chromium'):
            said = subprocess.run(['node', os.path.join(HERE, 'timeline.js'), page], check=True, stdout=subprocess.PIPE, text=True)
            print('  ' + said.stdout.strip().replace('\n', '\n  '))
    print('  (aim for ten million: ready after 4 s, 400 MB, a frame of the whole 100 ms, of a part 20 ms)')


def bench_compile(bench):
    ours = bench.tool('trace-compile')
    if not ours:
        print('skipped: trace-compile is missing')
        return
    runs = os.path.join(ROOT, 'samples', 'compile', 'h200')
    for kind, names in (('models', ('cold', 'ranks', 'autotune')), ('zoo', ('zoo',))):
        logs = [sorted(glob.glob(os.path.join(runs, name, 'dedicated_log_torch_trace_*')))[0] for name in names]
        log = bench.file('compile_%s.log' % kind, [sys.executable, os.path.join(HERE, 'make_compile_log.py'),
                                                   str(COMPILE_MEGABYTES), 'OUT'] + logs)
        command = [ours, '-q', '-o', os.path.join(bench.scratch, 'compile.txt'), log]
        peer = [sys.executable, os.path.join(HERE, 'walk_compile_log.py'), log]
        figures = run_against(bench, 'compile of ' + kind, command, [peer], '')
        size = os.path.getsize(log)
        print('  %d bytes, %.0f MB/s (aim: at least 200, 0.10 s and 32 MB)' % (size, size / figures[0].seconds / 1e6))


def bench_memory(bench):
    ours = bench.tool('trace-memory')
    if not ours:
        print('skipped: trace-memory is missing')
        return
    small = os.path.join(ROOT, 'samples', 'memory', 'steady.pickle.gz')
    snapshot = bench.file('memory.pickle', [sys.executable, os.path.join(HERE, 'make_snapshot.py'), small, str(SNAPSHOT_ENTRIES), 'OUT'])
    peer = [sys.executable, '-c', 'import pickle, sys; pickle.load(open(sys.argv[1], "rb"))', snapshot]
    figures = run_against(bench, 'memory', [ours, '-q', '-o', os.path.join(bench.scratch, 'memory.txt'), snapshot], [peer],
                          ' (aim: at most 1/9)')
    size = os.path.getsize(snapshot)
    print('  %d bytes, %d entries, %.0f MB/s; peak memory %.0f MB (aim: 0.8 s and 120 MB)' %
          (size, SNAPSHOT_ENTRIES, size / figures[0].seconds / 1e6, figures[0].peak_bytes / 1e6))


def bench_metrics(bench):
    ours, make, peer = bench.tool('trace-metrics'), bench.own('make_metrics'), bench.tool('trace-hta')
    if not ours or not make:
        print('skipped: trace-metrics or make_metrics is missing')
        return
    trace = bench.file('metrics.trace', [make, 'OUT', str(METRIC_LAUNCHES)])
    figures = run_against(bench, 'metrics', [ours, '-q', '-o', os.path.join(bench.scratch, 'metrics.txt'), trace],
                          [[peer, '-q', '-o', os.path.join(bench.scratch, 'metrics-hta.txt'), trace]] if peer else [], '')
    print('  %d launches with 15 metrics; peak memory %.0f MB (aim: 1 s)' % (METRIC_LAUNCHES, figures[0].peak_bytes / 1e6))


BENCHES = {'convert': bench_convert, 'gzip': bench_gzip, 'write': bench_write, 'perfetto': bench_perfetto,
           'decode': bench_decode, 'size': bench_size, 'hta': bench_hta, 'suggest': bench_suggest, 'flame': bench_flame, 'timeline': bench_timeline,
           'compile': bench_compile, 'memory': bench_memory, 'metrics': bench_metrics}


def main():
    parser = argparse.ArgumentParser(prog='tests/bench/run.sh')
    parser.add_argument('scratch', help=argparse.SUPPRESS)
    parser.add_argument('--rounds', type=int, default=7, help='runs of every command (default: 7)')
    parser.add_argument('--only', default=','.join(BENCHES), help='which of them, separated by commas')
    parser.add_argument('--trace', help='the Kineto trace that is enlarged (default: the largest in samples)')
    parser.add_argument('bin', nargs='?', default=os.path.join(ROOT, 'build/release/bin'), help='the built tools')
    options = parser.parse_intermixed_args()
    bench = Bench(options)
    if not bench.tool('trace-convert') or not bench.sample:
        raise SystemExit('%s: no tools, or no sample to enlarge' % bench.bin)
    print(machine())
    print('input: %s, enlarged to %d MB; median of %d rounds in turn' % (os.path.basename(bench.sample), MEGABYTES,
                                                                        bench.rounds))
    for name in options.only.split(','):
        BENCHES[name](bench)


if __name__ == '__main__':
    main()
