#!/bin/sh
test_description='cmake --install into any prefix, the folder of samples/bundle.sh, packages, and what README.md says of them'
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

# The commands of README.md that install and build, each in a copy of this system that is thrown away: what is written goes to a layer
# above it. Releases are made and installed on bare systems by tests/setup/check_release.sh.
cat >above.sh <<'EOF'
# above.sh FOLDER COMMAND: run it there
set -eu
rm -rf layer && mkdir -p layer/upper layer/work layer/root
root=$PWD/layer/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$PWD/layer/upper,workdir=$PWD/layer/work" "$root"
mount -t proc proc "$root/proc"
printf '#!/bin/sh\nexec "$@"\n' >"$root/usr/local/bin/sudo" # root is who runs this
chmod +x "$root/usr/local/bin/sudo"
exec chroot "$root" env -i PATH=/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
    DEBIAN_FRONTEND=noninteractive sh -c "cd '$1' && $2"
EOF
above() { unshare --mount sh above.sh "$@" </dev/null >log 2>&1 || { code=$?; tail -n 20 log; return $code; }; }
[ "$build" = "$GP_SOURCE/build/release" ] && above "$GP_SOURCE" "test -s README.md" && test_set_prereq ABOVE

test_expect_success ABOVE,DEB 'a tarball and a wheel are packed, too' '
    mkdir files && mv deb/*.deb files && ln -s "$samples" files/samples &&
    cpack --config "$build/CPackConfig.cmake" -G TGZ -B files >log 2>&1 || { cat log; return 1; }
    python3 "$GP_SOURCE/collect/python/backend.py" files "$build"
'
! above / 'python3 -m venv /venv' || test_set_prereq VENV

python3 "$GP_SOURCE/tests/pipe/readme.py" "$GP_SOURCE/README.md" Install >commands
draw=$(grep '^trace2flame' commands)
installs() { # FOLDER -- the tools there, and README.md's picture is drawn by them
    above "$PWD/files" "$before $command && $draw && test \$(command -v trace2flame) = $1/trace2flame && grep -q '<svg' flame.svg"
}
while IFS= read -r command; do
    before=
    case $command in
    trace2flame*) continue ;; # after each installation
    tests/run.sh) continue ;; # that is what runs this
    'sudo apt-get '*) test_expect_success ABOVE,DEB "$command" 'installs /usr/bin' ;;
    'sudo tar '*) test_expect_success ABOVE,DEB "$command" 'installs /usr/local/bin' ;;
    'pip '*)
        before='python3 -m venv /venv &&'
        test_expect_success ABOVE,DEB,VENV "$command" 'installs /venv/bin'
        ;;
    'sudo cmake '*) test_expect_success ABOVE "$command" 'above "$GP_SOURCE" "$command && /usr/local/bin/trace2flame --version"' ;;
    *) test_expect_success ABOVE "$command" 'above "$GP_SOURCE" "$command"' ;;
    esac
done <commands
test_expect_success ABOVE 'planted: a command that fails is found' '
    ! above "$GP_SOURCE" "cmake --install nowhere"
'

test_done
