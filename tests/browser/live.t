#!/bin/sh
# The page of a running program in headless Chromium: gpuprof-collect --serve, and trace-serve --live. Skipped where there is
# no browser.
here=$(cd "$(dirname "$0")" && pwd)
for need in node chromium; do
    command -v $need >/dev/null 2>&1 || { echo "1..0 # SKIP $need is missing"; exit 0; }
done
bin=${GP_BIN:-$here/../../build/release/bin}
mock=${bin%/bin}/tests/mock
GPUPROF_LIBCUPTI=$mock/libcupti.so.13
export GPUPROF_LIBCUPTI
scratch=$(mktemp -d) || exit 1
running=
trap 'kill $running 2>/dev/null; wait; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

there() { for i in $(seq 400); do [ ! -e "$1" ] || return 0; sleep 0.05; done; return 1; }

# begin -- a program that works for a minute, and a server that shows it.
begin() {
    kill $running 2>/dev/null
    wait
    rm -rf runs link socket
    mkdir runs
    "$bin/gpuprof-collect" --flush-interval 50ms --serve socket -o whole.trace timeout 100 "$mock/app" long 100000 2>collect.err &
    running=$!
    there socket || return 1
    "$bin/trace-serve" --idle 100 --live socket --upload runs runs >link 2>serve.err &
    running="$running $!"
    for i in $(seq 300); do [ ! -s link ] || return 0; sleep 0.05; done
}
page() { begin && node "$here/live.js" "$scratch"; }

. "$here/tries.sh"
tries page
