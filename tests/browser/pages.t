#!/bin/sh
# Every page that our tools write, opened in Chromium and in Firefox: there is something to see. A browser that is missing is
# skipped with a line.
test_description='all pages in all browsers'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

# What a person would look at, made from the samples.
mkdir pages
trace2flame -q -f html "$samples/h200/eager.json.gz" >pages/flame.html &&
    trace2timeline -q "$samples/h200/eager.json.gz" >pages/timeline.html &&
    trace-hta -q -f html "$samples/h200/eager.json.gz" >pages/hta.html &&
    trace-suggest -q -f html "$samples/h200/eager.json.gz" >pages/suggest.html &&
    trace-diff -q -f html --gate none "$samples/pairs/small_fused.trace" "$samples/pairs/small_forloop.trace" >pages/diff.html &&
    trace-compile -q -f html "$samples/compile/h200/zoo" >pages/compile.html &&
    trace-memory -q -f html "$samples/memory/leak.pickle.gz" >pages/memory.html &&
    trace2timeline -q "$samples/memory/leak.pickle.gz" >pages/snapshot.html &&
    trace-hta -q -f html "$samples/h200/ddp.rank0.json.gz" "$samples/h200/ddp.rank1.json.gz" >pages/ranks.html &&
    trace-suggest -q --roofline pages/roofline.html "$samples/h200/eager.json.gz" >/dev/null &&
    "$GP_BIN/../tests/make_metrics" hand.trace && trace-metrics -q -f html hand.trace >pages/metrics.html &&
    "$GP_BIN/../tests/make_metrics" stalls.trace stalls && trace-metrics -q -f html stalls.trace >pages/stalls.html || exit 1
pages=$(cd pages && ls | sed "s/\.html$//")

# All of them on one sheet, 500 pixels each: a browser takes seconds to start. The last one is empty.
echo "<html><body></body></html>" >pages/empty.html
for page in $pages empty; do
    echo "<iframe src=pages/$page.html width=600 height=500 style='display:block;border:0'></iframe>"
done | sed "1i<!DOCTYPE html><body style=margin:0>" >sheet.html
height=$((500 * ($(echo $pages | wc -w) + 1)))

# How many colours each page of a sheet has, in rows 40 pixels apart, a line a page: one without content has a few.
cat >colors.py <<'END'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
bytes_per = {2: 3, 6: 4}[kind]
packed, at = b"", 8
while at < len(data):
    n, tag = struct.unpack(">I4s", data[at:at + 8])
    if tag == b"IDAT":
        packed += data[at + 8:at + 8 + n]
    at += n + 12
raw, stride, above = zlib.decompress(packed), width * bytes_per, bytearray(width * bytes_per)
seen = [set() for _ in range(0, height, 500)]
hows, looked_at = raw[::stride + 1], [y % 40 == 20 for y in range(height)]
needed = looked_at[:]
for y in range(height - 1, 0, -1):
    needed[y - 1] |= needed[y] and hows[y] > 1  # it is written as the difference to the line above
for y in range(height):
    if not needed[y]:
        continue
    how, line = hows[y], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
    for i in range(stride if how else 0):
        a, b = line[i - bytes_per] if i >= bytes_per else 0, above[i]
        c = above[i - bytes_per] if i >= bytes_per else 0
        if how == 4:
            p = a + b - c
            near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        else:
            near = (0, a, b, (a + b) // 2)[how]
        line[i] = (line[i] + near) & 255
    if looked_at[y]:
        seen[y // 500] |= {bytes(line[i:i + 3]) for i in range(0, stride, bytes_per)}
    above = line
for page in seen:
    print(len(page))
END

# shoot BROWSER -- BROWSER.png is what BROWSER shows of the sheet, BROWSER.colors what each page has.
shoot() {
    rm -f "$1.png"
    case $1 in
    chromium)
        timeout 200 chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$PWD/chromium" \
            --window-size=600,$height --virtual-time-budget=9000 --screenshot="$PWD/$1.png" "file://$PWD/sheet.html" >log 2>&1
        ;;
    firefox-esr)
        mkdir -p firefox && HOME=$PWD/firefox timeout 200 firefox-esr --headless --no-remote --profile "$PWD/firefox" \
            --window-size=600,$height --screenshot "$PWD/$1.png" "file://$PWD/sheet.html" >log 2>&1
        ;;
    esac
    python3 colors.py "$1.png" >"$1.colors"
}

for browser in chromium firefox-esr; do
    if ! command -v $browser >/dev/null 2>&1; then
        echo "# $browser is missing: its pages are not opened"
        continue
    fi
    test_expect_success "$browser opens all pages" "
        { shoot $browser || shoot $browser; } && test \$(wc -l <$browser.colors) -eq $((height / 500))
    "
    number=0
    for page in $pages; do
        number=$((number + 1))
        test_expect_success "$browser shows the $page page" "
            test \$(sed -n ${number}p $browser.colors) -ge 12
        "
    done
    test_expect_success "$browser: an empty page is seen as such" "
        test \$(sed -n '\$p' $browser.colors) -lt 12
    "
done

test_done
