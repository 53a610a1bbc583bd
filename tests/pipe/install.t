#!/bin/sh
test_description='cmake --install into any prefix, and the Debian package'
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

command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null && command -v dpkg-deb >/dev/null && command -v cpack >/dev/null && test_set_prereq DEB
test_expect_success DEB 'the Debian package holds the same, below /usr, and names the libraries it needs' '
    cpack --config "$build/CPackConfig.cmake" -G DEB -B deb >log 2>&1 || { cat log; return 1; }
    dpkg-deb --field deb/*.deb Depends >depends && grep "libc6 (>=" depends && grep -w libzstd1 depends &&
    dpkg-deb --extract deb/*.deb tree && (cd moved && find . -type f | sort) >expect &&
    (cd tree/usr && find . -type f | sort) >out && test_cmp expect out
'

test_done
