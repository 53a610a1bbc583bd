#!/bin/sh
test_description='cmake --install into any prefix, the folder of samples/bundle.sh, and the Debian package'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
build=${GP_BIN%/bin}
tools=$(cd "$GP_BIN" && ls)

test_expect_success 'everything goes below the prefix' '
    cmake --install "$build" --prefix "$PWD/a prefix" >log && mv "a prefix" moved && ! [ -e "a prefix" ]
'

for tool in $tools; do
    test_expect_success "$tool runs from there, with its manual and completions" '
        "moved/bin/$tool" --version >out && grep "^$tool (gpuprof) [0-9]" out &&
        "moved/bin/$tool" --help | grep "^usage: $tool" && test -s "moved/share/man/man1/$tool.1" &&
        for f in bash-completion/completions/$tool zsh/site-functions/_$tool fish/vendor_completions.d/$tool.fish; do
            test -s "moved/share/$f" || return 1
        done
    '
done

test_expect_success 'a filter works there' '
    moved/bin/trace2flame -q -f folded "$samples/h200/ranges.trace" >moved.folded &&
    trace2flame -q -f folded "$samples/h200/ranges.trace" >expect && test_cmp expect moved.folded
'

[ ! -x "$build/tests/mock/app" ] || test_set_prereq MOCK
test_expect_success MOCK 'the collector finds its library there' '
    GPUPROF_LIBCUPTI=$build/tests/mock/libcupti.so.13 ASAN_OPTIONS=detect_leaks=0 \
        moved/bin/gpuprof-collect -o t "$build/tests/mock/app" launch 10 1 1 2>err &&
    "$build/tests/mock/facts" t | grep -Fx "gpu 10"
'

# A root that has the C library and the bundle, in its own view of mounts.
cat >bare.sh <<\EOF
set -eu
mkdir -p bare/proc bare/tmp bare/dev bare/lib bare/lib64
: >bare/dev/null
for name in ld-linux-x86-64.so.2 libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libresolv.so.2; do
    cp -L "$(ldconfig -p | sed -n "s/.*x86-64.*=> \(.*\/$name\)\$/\1/p" | head -n 1)" bare/lib
done
cp bare/lib/ld-* bare/lib64
mount -t proc proc bare/proc
exec chroot bare "$@"
EOF
bare() { unshare --mount sh bare.sh "$@"; }
bare /none 2>err || ! grep "none.*No such file" err >/dev/null || test_set_prereq BARE

test_expect_success 'a bundle is made' '
    GPUPROF_BIN=$GP_BIN "$GP_SOURCE/samples/bundle.sh" bare/gpuprof >listed 2>err && grep libzstd listed &&
    cp "$samples/h200/ranges.trace" "$samples/h200/eager.json.gz" bare
'
test_expect_success BARE 'every tool of it runs where there is nothing but the C library' '
    for tool in $(cd bare/gpuprof/bin && ls); do
        [ "$tool" != nvtx_cost ] || continue
        bare /gpuprof/bin/$tool --version >out && grep "^$tool (gpuprof) [0-9]" out || { echo "$tool"; return 1; }
    done &&
    bare /gpuprof/bin/trace2flame -q -f folded /ranges.trace >out && test_cmp expect out &&
    bare /gpuprof/bin/trace-hta -q -f html /eager.json.gz >out && grep -q "<svg class=.graph" out
'
test_expect_success BARE 'there, what measures and what records are found, and only a GPU is missing' '
    test_expect_code 2 bare /gpuprof/bin/gpuprof-measure --calibrate 2>err && grep "no NVIDIA driver: libcuda.so.1" err &&
    bare /gpuprof/bin/gpuprof-collect -o /none.trace /gpuprof/bin/trace2flame --version 2>err && grep "no process used CUDA" err
'
test_expect_success 'the Python module of it finds its tools' '
    PYTHONPATH=bare/gpuprof/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 python3 -c "
import gputrace, os
assert os.path.samefile(gputrace.tool(\"trace-hta\"), \"bare/gpuprof/bin/trace-hta\"), gputrace.tool(\"trace-hta\")"
'

command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null && command -v dpkg-deb >/dev/null && command -v cpack >/dev/null && test_set_prereq DEB
test_expect_success DEB 'the Debian package holds the same, below /usr, and names the libraries it needs' '
    cpack --config "$build/CPackConfig.cmake" -G DEB -B deb >log 2>&1 || { cat log; return 1; }
    dpkg-deb --field deb/*.deb Depends >depends && grep "libc6 (>=" depends && grep -w libzstd1 depends &&
    dpkg-deb --extract deb/*.deb tree && (cd moved && find . -type f | sort) >expect &&
    (cd tree/usr && find . -type f | sort) >out && test_cmp expect out
'

test_done
