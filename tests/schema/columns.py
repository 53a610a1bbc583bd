"""columns.py REPORT.json TABLE.csv PATH -- every column of a table that JSON has, too, has JSON's values: null is an empty cell,
and an object's member is a column with both names. PATH is where the rows are, as in collective_matching.matches; rows of tables
that leave out rows which JSON has are the first ones. Prints what differs, and last how many columns were compared."""
import csv
import json
import sys

csv.field_size_limit(1 << 24)


def flat(row):
    out = {}
    for key, value in row.items():
        if isinstance(value, dict):
            out.update(('%s_%s' % (key, k), v) for k, v in flat(value).items())
        else:
            out[key] = value
    return out


def same(cell, value):
    if value is None or cell == '':
        return cell == '' and value in (None, '')
    if isinstance(value, bool):
        return cell == ('true' if value else 'false')
    if isinstance(value, (int, float)):
        return json.loads(cell) == value and ('.' in cell or 'e' in cell) == isinstance(value, float)
    return cell == value or cell == "'" + value  # what a spreadsheet would take for a formula


def main():
    rows = json.load(open(sys.argv[1]))
    for key in sys.argv[3].split('.'):
        rows = rows[key]
    rows = [flat(row) for row in rows]
    cells = list(csv.DictReader(open(sys.argv[2], newline='')))
    if len(cells) > len(rows):
        print('%d rows, of which JSON has %d' % (len(cells), len(rows)))
    shared = [c for c in (cells[0] if cells else {}) if rows and c in rows[0]]
    for i, (row, line) in enumerate(zip(rows, cells)):
        for column in shared:
            if not same(line[column], row[column]):
                print('row %d, %s: %r is %r in JSON' % (i, column, line[column], row[column]))
    print('%d columns' % len(shared))


main()
