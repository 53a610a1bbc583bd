#!/bin/sh
# The page of trace-hta in headless Chromium. Skipped where there is no browser.
here=$(cd "$(dirname "$0")" && pwd)
for need in node chromium; do
    command -v $need >/dev/null 2>&1 || { echo "1..0 # SKIP $need is missing"; exit 0; }
done
hta=${GP_BIN:-$here/../../build/release/bin}/trace-hta
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# kernel_0 to kernel_9 last 1 to 10 us at three calls each; those of 11 us are called like an attack.
awk 'BEGIN {
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\\\"\047"
    print "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"python\"}}"
    for (id = 1; id <= 33; id++) {
        k = int((id - 1) / 3)
        ts = 100 + 40 * id
        name = k == 10 ? evil : "void space::kernel_" k "<float, 4>(int, float*)"
        op = k == 10 ? evil : "aten::op_" k
        printf ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":9}\n", op, ts - 9
        printf ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":2", ts - 7
        printf ",\"args\":{\"correlation\":%d}}\n", id
        printf ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d", name, ts, k + 1
        printf ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}\n", id
    }
    print "]"
}' >names.json
"$hta" -q -f html names.json >names.html || exit 1
"$hta" -q -f html --top 0 names.json >again.html || exit 1
touch flame.html && "$hta" -q -f html --flame flame.html names.json >linked.html || exit 1
"${hta%/*}/trace2flame" -q -f html names.json >flame.html || exit 1

. "$here/tries.sh"
tries node "$here/report.js" "$scratch"
