#!/bin/sh
# The page of a flame graph in headless Chromium. Skipped where there is no browser.
here=$(cd "$(dirname "$0")" && pwd)
for need in node chromium; do
    command -v $need >/dev/null 2>&1 || { echo "1..0 # SKIP $need is missing"; exit 0; }
done
flame=${GP_BIN:-$here/../../build/release/bin}/trace2flame
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# A sample of each kind as a page, and as folded stacks by each weight to compare with.
for name in eager.json.gz ddp.rank0.json.gz compiled.trace decode_graph.trace managed.trace nccl.trace twoproc_exec.trace; do
    sample=$here/../../samples/h200/$name name=sample-$name
    "$flame" -q -f html --whole "$sample" >"$scratch/$name.html" || exit 1
    for weight in gpu cpu count bytes idle; do
        "$flame" -q -f folded -w $weight "$sample" >"$scratch/$name.$weight" || exit 1
    done
done

cd "$scratch" || exit 1
cat >plain.folded <<'END'
step;forward;mm;gemm 300
step;forward;gelu;elementwise 100
step;backward;mm;gemm 200
END
"$flame" -f html --whole plain.folded >plain.html || exit 1
"$flame" plain.folded >plain.svg || exit 1
"$flame" -f html --whole --invert plain.folded >inverted.html || exit 1
(cat plain.folded && echo "step;forward;extra 50" && echo "other 900") | "$flame" -f html --whole >wider.html || exit 1
printf '%s\n' '</title></script><script>alert(1)</script>]]><img src=x onerror=alert(2)>;a 5' \
    "main;;b'\"\\&lt<!-- 3" >names.folded
"$flame" -f html --whole --title '</title><script>alert(3)</script>' names.folded >names.html || exit 1
cat >kinds.json <<'END'
[{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,"tid":7,"ts":1,"dur":3,"args":{"stream":7}},
 {"ph":"X","cat":"kernel","name":"my_kernel","pid":0,"tid":7,"ts":5,"dur":6,"args":{"stream":7}},
 {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":11,"dur":1,"args":{"stream":7,"bytes":4096}}]
END
"$flame" -q -f html --whole kinds.json >kinds.html || exit 1
echo '{"traceEvents":[]}' | "$flame" -q -f html --whole >empty.html || exit 1
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "all work;leaf_%d %d\n", i, 10 + i % 7 }' >many.folded
"$flame" -f html --whole many.folded >many.html || exit 1

. "$here/tries.sh"
tries node "$here/flame_html.js" "$scratch"
