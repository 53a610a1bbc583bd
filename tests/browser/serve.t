#!/bin/sh
# The pages of trace-serve in headless Chromium: list, compare, upload, dark, narrow. Skipped where there is no browser.
here=$(cd "$(dirname "$0")" && pwd)
for need in node chromium; do
    command -v $need >/dev/null 2>&1 || { echo "1..0 # SKIP $need is missing"; exit 0; }
done
serve=${GP_BIN:-$here/../../build/release/bin}/trace-serve
samples=$here/../../samples
scratch=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill $server; wait; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# begin -- a server over fresh files: a script that is tried again finds what the first try found.
begin() {
    [ -z "$server" ] || { kill $server; wait; }
    rm -rf runs up link
    mkdir runs && cp "$samples/h200/ddp.trace" runs/before.trace && cp "$samples/memory/steady.pickle.gz" runs/ &&
        cp "$samples/h200/ranges.trace" 'runs/<b class=evil><img src=x>.trace' && touch -d '1 hour ago' runs/* && cp "$samples/h200/eager.json.gz" runs/earlier.trace && touch -d '2 hours ago' runs/earlier.trace &&
        cp "$samples/pairs/train.trace" runs/quick.trace && touch -d '4 hours ago' runs/quick.trace && cp "$samples/pairs/train_item.trace" runs/slower.trace && touch -d '3 hours ago' runs/slower.trace &&
        cp "$samples/h200/eager.json.gz" runs/newest.trace || exit 1
    "$serve" --idle 100 --upload up runs >link 2>err &
    server=$!
    for i in $(seq 300); do [ ! -s link ] || break; sleep 0.05; done
}
page() { begin && node "$here/serve.js" "$scratch"; }

. "$here/tries.sh"
tries page
