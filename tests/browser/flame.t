#!/bin/sh
# The flame graph's script in headless Chromium. Skipped where there is no browser.
here=$(cd "$(dirname "$0")" && pwd)
for need in node chromium; do
    command -v $need >/dev/null 2>&1 || { echo "1..0 # SKIP $need is missing"; exit 0; }
done
flame=${GP_BIN:-$here/../../build/release/bin}/trace2flame
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

cat >plain.folded <<'END'
step;forward;mm;gemm 300
step;forward;gelu;elementwise 100
step;backward;mm;gemm 200
END
"$flame" plain.folded >plain.svg || exit 1
(cat plain.folded && echo "step;forward;extra 50" && echo "other 900") | "$flame" --width 900 >wider.svg || exit 1
echo '</title></script><script>alert(1)</script>]]>;a 5' | "$flame" >names.svg || exit 1
cat >kinds.json <<'END'
[{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,"tid":7,"ts":1,"dur":3,"args":{"stream":7}},
 {"ph":"X","cat":"kernel","name":"my_kernel","pid":0,"tid":7,"ts":5,"dur":6,"args":{"stream":7}}]
END
"$flame" -q kinds.json >kinds.svg || exit 1
awk 'BEGIN {
    for (i = 0; i < 9000; i++)
        printf "step;layer_%d;op_%d;some_namespace::kernel_%d<float, 4> %d\n", i % 97, i % 1009, i, 100 + i * 7919 % 1000
}' | "$flame" >large.svg || exit 1
{
    echo "<!DOCTYPE html><meta charset=utf-8><title>page</title><h1>Two pictures</h1><div>"
    tail -n +2 plain.svg
    echo "</div><div>"
    tail -n +2 names.svg
    echo "</div>"
} >page.html

. "$here/tries.sh"
tries node "$here/flame.js" "$scratch"
