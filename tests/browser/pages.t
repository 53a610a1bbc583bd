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
    trace-compile -q -f html "$samples/compile/h200/zoo" >pages/compile.html || exit 1
# trace-memory writes one where it can.
! trace-memory -q -f html "$samples/memory/leak.pickle.gz" >pages/memory.html 2>/dev/null && rm -f pages/memory.html
pages=$(cd pages && ls | sed "s/\.html$//")

# How many colours a picture has, in rows 40 pixels apart: a page without content has a few.
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
raw, stride, above, seen = zlib.decompress(packed), width * bytes_per, bytearray(width * bytes_per), set()
for y in range(height):
    how, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
    for i in range(stride):
        a, b = line[i - bytes_per] if i >= bytes_per else 0, above[i]
        c = above[i - bytes_per] if i >= bytes_per else 0
        if how == 4:
            p = a + b - c
            near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        else:
            near = (0, a, b, (a + b) // 2)[how]
        line[i] = (line[i] + near) & 255
    if y % 40 == 20:
        seen |= {bytes(line[i:i + 3]) for i in range(0, stride, bytes_per)}
    above = line
print(len(seen))
END

# shoot BROWSER NAME -- NAME.png is what BROWSER shows of the page.
shoot() {
    case $1 in
    chromium)
        timeout 100 chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$PWD/chromium" \
            --window-size=600,500 --virtual-time-budget=3000 --screenshot="$PWD/$2.png" "file://$PWD/pages/$2.html" >log 2>&1
        ;;
    firefox-esr)
        mkdir -p firefox && HOME=$PWD/firefox timeout 100 firefox-esr --headless --no-remote --profile "$PWD/firefox" \
            --window-size=600,500 --screenshot "$PWD/$2.png" "file://$PWD/pages/$2.html" >log 2>&1
        ;;
    esac
}

for browser in chromium firefox-esr; do
    if ! command -v $browser >/dev/null 2>&1; then
        echo "# $browser is missing: its pages are not opened"
        continue
    fi
    for page in $pages; do
        test_expect_success "$browser shows the $page page" "
            rm -f $page.png && { shoot $browser $page || shoot $browser $page; } &&
            test \$(python3 colors.py $page.png) -ge 12
        "
    done
done

test_expect_success 'an empty page is seen as such' '
    if command -v chromium >/dev/null 2>&1; then
        echo "<html><body></body></html>" >pages/empty.html && shoot chromium empty &&
        test $(python3 colors.py empty.png) -lt 12
    fi
'

test_done
