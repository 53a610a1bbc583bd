"""columns.py REPORT.json TABLE PATH [TABLE PATH]... -- TABLE is a CSV file, or PAGE.html#ID for a table of a page: every column of a table that
JSON has, too, has JSON's values: null is an empty cell, an object's member is a column with both names, and a list of frames is
one cell. PATH is where the rows are, as in collective_matching.matches or devices.streams; rows of tables that leave out rows
which JSON has are the first ones. Prints what differs, and last how many columns were compared; of several tables, with their names."""
import csv
import html.parser
import json
import sys

csv.field_size_limit(1 << 24)


def flat(row):
    out = {}
    for key, value in row.items():
        if isinstance(value, dict):
            out.update(('%s_%s' % (key, k), v) for k, v in flat(value).items())
            # figures of counters: "dram__bytes.sum mean"
            out.update(('%s %s' % (name, k), v) for name, f in value.items() if isinstance(f, dict) for k, v in f.items())
        else:
            out[key] = value
    return out


class Page(html.parser.HTMLParser):
    """The rows of the table ID, by the ids of their columns: what they are sorted and copied as, full names from tooltips."""

    def __init__(self, path, id):
        super().__init__()
        self.id, self.inside, self.ids, self.rows = id, False, [], []
        self.feed(open(path).read())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == 'details' and 'id' in attrs:
            self.inside = attrs['id'] == self.id
        if not self.inside:
            return
        if tag == 'th':
            self.ids.append(attrs['data-id'])
        elif tag == 'tr':
            self.rows.append({})
        elif tag == 'td':
            self.cell, self.known = self.ids[len(self.rows[-1])], attrs.get('data-v', attrs.get('title'))
            self.rows[-1][self.cell] = self.known or ''

    def handle_data(self, data):
        if self.inside and self.rows and self.rows[-1] and self.known is None and data != '-':
            self.rows[-1][self.cell] += data

    def handle_endtag(self, tag):
        if tag == 'td':
            self.known = ''
        elif tag == 'tbody':
            self.inside = False


def near(cell, value):
    """As same(); a page has six digits of a real number."""
    if isinstance(value, float) and cell != '':
        return abs(float(cell) - value) <= 1e-5 * abs(value)
    if isinstance(value, bool):
        return cell == ('yes' if value else 'no')
    return same(cell, value)


def same(cell, value):
    if isinstance(value, list):
        return cell == ' < '.join(value)
    if value is None or cell == '':
        return cell == '' and value in (None, '')
    if isinstance(value, bool):
        return cell == ('true' if value else 'false')
    if isinstance(value, (int, float)):
        return json.loads(cell) == value and ('.' in cell or 'e' in cell) == isinstance(value, float)
    return cell == value or cell == "'" + value  # what a spreadsheet would take for a formula


def compare(rows, name, path, prefix):
    for key in path.split('.'):
        rows = rows[key] if isinstance(rows, dict) else [inner for row in rows for inner in row[key]]
    rows = [flat(row) for row in rows]
    file, hash, table = name.partition('#')
    agree = near if hash else same
    cells = [row for row in Page(file, table).rows if row] if hash else list(csv.DictReader(open(file, newline='')))
    if len(cells) > len(rows):
        print(prefix + '%d rows, of which JSON has %d' % (len(cells), len(rows)))
    shared = [c for c in (cells[0] if cells else {}) if any(c in row for row in rows)]
    for i, (row, line) in enumerate(zip(rows, cells)):
        for column in shared:
            if not agree(line[column], row.get(column)):
                print(prefix + 'row %d, %s: %r is %r in JSON' % (i, column, line[column], row.get(column)))
    print(prefix + '%d columns' % len(shared))


def main():
    report = json.load(open(sys.argv[1]))
    tables = list(zip(sys.argv[2::2], sys.argv[3::2]))
    for name, path in tables:
        compare(report, name, path, name + ': ' if len(tables) > 1 else '')


main()
