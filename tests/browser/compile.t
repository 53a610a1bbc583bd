#!/bin/sh
# The page of trace-compile in headless Chromium. Skipped where there is no browser.
here=$(cd "$(dirname "$0")" && pwd)
for need in node chromium; do
    command -v $need >/dev/null 2>&1 || { echo "1..0 # SKIP $need is missing"; exit 0; }
done
compile=${GP_BIN:-$here/../../build/release/bin}/trace-compile
runs=$here/../../samples/compile/h200
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

for form in html json; do
    "$compile" -q -f $form "$runs/zoo" "$runs/zoo/text.log.gz" "$runs/zoo/steps.json.gz" >zoo.$form || exit 1
    "$compile" -q -f $form --eager "$runs/eager/steps.json.gz" "$runs/reduce/" "$runs/reduce/steps.json.gz" >reduce.$form || exit 1
    "$compile" -q -f $form "$runs/killed" >killed.$form || exit 1
    "$compile" -q -f $form "$runs/ranks" >ranks.$form || exit 1
done
"$compile" -q -f html --code "$runs/zoo" >code.html || exit 1
# Functions, files, spans and kernels that are called like an attack.
evil='<\/script><script>alert(1)<\/script><img src=x onerror=alert(2)>'
gzip -dc "$runs"/zoo/dedicated* | sed "s|zoo\\.py|$evil.py|g; s|f_item|$evil f_item|g; s|\"name\": \"code_gen\"|\"name\": \"$evil\"|" |
    "$compile" -q -f html >names.html || exit 1
mkdir nothing && : >nothing/dedicated_log_torch_trace_x.log && "$compile" -q -f html nothing >nothing.html || exit 1

. "$here/tries.sh"
tries node "$here/compile.js" "$scratch"
