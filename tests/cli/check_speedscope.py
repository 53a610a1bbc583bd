#!/usr/bin/env python3
"""Is FILE what speedscope documents as its format? Prints a line for each profile: name, unit, sum of weights.

Written from https://www.speedscope.app/file-format-schema.json: sampled profiles only, as trace2flame writes them.
"""
import json
import sys

UNITS = {'bytes', 'microseconds', 'milliseconds', 'nanoseconds', 'none', 'seconds'}


def check(condition, what):
    if not condition:
        sys.exit('not a speedscope file: ' + what)


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        doc = json.load(file)
    check(doc['$schema'] == 'https://www.speedscope.app/file-format-schema.json', '$schema')
    check(set(doc) <= {'$schema', 'shared', 'profiles', 'name', 'activeProfileIndex', 'exporter'}, 'unknown key')
    frames = doc['shared']['frames']
    for frame in frames:
        check(isinstance(frame['name'], str) and frame['name'], 'frame without a name')
        check(set(frame) <= {'name', 'file', 'line', 'col'}, 'unknown key of a frame')
    check(len({frame['name'] for frame in frames}) == len(frames), 'a frame twice')
    check(0 <= doc['activeProfileIndex'] < len(doc['profiles']), 'activeProfileIndex')
    for profile in doc['profiles']:
        check(set(profile) == {'type', 'name', 'unit', 'startValue', 'endValue', 'samples', 'weights'}, 'keys')
        check(profile['type'] == 'sampled', 'type')
        check(profile['unit'] in UNITS, 'unit')
        check(len(profile['samples']) == len(profile['weights']), 'samples and weights differ in number')
        for sample in profile['samples']:
            check(all(is_int(i) and 0 <= i < len(frames) for i in sample), 'index of a frame')
        check(all(is_int(w) and w > 0 for w in profile['weights']), 'weight')
        check(profile['startValue'] == 0 and profile['endValue'] == sum(profile['weights']), 'endValue')
        print(profile['name'], profile['unit'], sum(profile['weights']))


main()
