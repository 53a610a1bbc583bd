#!/bin/sh
# usage: tests/setup/check_release.sh [OUT [ROOTS]]
# As root: makes a release in a bare Debian 11 (debootstrap), and installs each of its files in a bare Debian 11, 12 and 13 with the
# commands of README.md, draws a sample, and runs every tool. Builds this tree in a bare Debian 12 by the commands of README.md, too.
# OUT (default: build/release-files) keeps the files of the release, which are made anew for another commit, ROOTS (default: OUT/roots)
# the bare systems, which are made where they are missing. Takes half an hour, and a network with Debian's packages. Prints TAP.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
mkdir -p "${1:-$source/build/release-files}"
out=$(cd "${1:-$source/build/release-files}" && pwd)
roots=${2:-$out/roots}
mkdir -p "$roots"
checks=0 failed=0
scratch=
trap clear_scratch EXIT
trap 'exit 1' HUP INT TERM

clear_scratch() {
    [ -z "$scratch" ] || { umount "$scratch/proc" 2>/dev/null || :; rm -rf "$scratch"; }
    scratch=
}

is() { # WHAT STATUS
    checks=$((checks + 1))
    if [ "$2" = 0 ]; then echo "ok $checks - $1"; else echo "not ok $checks - $1"; failed=1; fi
}

# bare RELEASE -- a fresh copy of that system in $scratch, with this tree in /src and the release beside it.
bare() {
    if [ ! -e "$roots/$1.done" ]; then
        debootstrap --variant=minbase "$1" "$roots/$1" >"$roots/$1.log" 2>&1 || { tail -n 5 "$roots/$1.log"; exit 1; }
        : >"$roots/$1.done"
    fi
    clear_scratch
    scratch=$(mktemp -d "$roots/scratch.XXXXXX")
    cp -a "$roots/$1/." "$scratch"
    cp /etc/resolv.conf "$scratch/etc/"
    mount --bind /proc "$scratch/proc"
    mkdir "$scratch/src"
    (cd "$source" && git ls-files -z | tar --null -T - -cf -) | tar xf - -C "$scratch/src"
    find "$out" -maxdepth 1 -type f \( -name '*.deb' -o -name '*.tar.gz' -o -name '*.whl' \) -exec cp {} "$scratch/src" \;
    printf '#!/bin/sh\nexec "$@"\n' >"$scratch/usr/local/bin/sudo" # root is who runs this
    chmod +x "$scratch/usr/local/bin/sudo"
}

# inside COMMANDS -- in that system, in the tree.
inside() {
    chroot "$scratch" env -i PATH=/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
        DEBIAN_FRONTEND=noninteractive GPUPROF_CUDA_INCLUDE=/cuda sh -c "cd /src && $1" >"$out/inside.log" 2>&1 </dev/null ||
        { code=$?; tail -n 8 "$out/inside.log" | sed 's/^/# /'; return $code; }
}

commands=$(python3 "$here/../pipe/readme.py" "$source/README.md" Install)
headers() { # CUDA's headers, where this machine has them
    for folder in ${GPUPROF_CUDA_INCLUDE:-/usr/local/cuda/include}; do
        mkdir -p "$scratch/cuda"
        cp -rL "$folder/." "$scratch/cuda"
    done
}

commit=$(git -C "$source" describe --always --dirty --exclude='*')
if [ "$(cat "$out/commit" 2>/dev/null)" != "$commit" ]; then
    rm -f "$out"/*.deb "$out"/*.tar.gz "$out"/*.whl "$out/commit"
    bare bullseye
    headers
    inside 'apt-get -q update && tests/setup/release.sh out' && is 'a release is made on Debian 11' 0 || is 'a release is made on Debian 11' 1
    cp "$scratch"/src/out/*.deb "$scratch"/src/out/*.tar.gz "$scratch"/src/out/*.whl "$out" && echo "$commit" >"$out/commit"
fi

# What each file has to do once it is installed.
cat >"$out/every_tool.sh" <<'END'
set -eu
for tool in trace-compile trace-convert trace-diff trace-fleet trace-hta trace-memory trace-metrics trace-query trace-serve \
    trace-suggest trace2flame trace2timeline gpuprof-collect gpuprof-measure gpuprof-try; do $tool --version; done
grep -q '<svg' flame.svg
trace-hta -q -f html -o page.html samples/h200/eager.json.gz && grep -q '<svg' page.html
trace-query samples/h200/eager.trace 'SELECT count(*) FROM kernels' | grep '[1-9]'
GPUPROF_LIBCUPTI=/nowhere gpuprof-collect -o none.trace true
! gpuprof-measure --calibrate 2>said && grep -i 'driver' said
END
draw=$(printf '%s\n' "$commands" | grep '^trace2flame')
for release in bullseye bookworm trixie; do
    for kind in apt-get tar pip; do
        [ "$release/$kind" != bullseye/pip ] || continue # Python 3.9; gputrace needs 3.10
        install=$(printf '%s\n' "$commands" | grep -E "^(sudo )?$kind ")
        bare $release
        cp "$out/every_tool.sh" "$scratch/src"
        [ $kind != pip ] || inside 'apt-get -q update && apt-get -q -y install --no-install-recommends python3-venv && python3 -m venv /venv'
        inside "$install && $draw" && code=0 || code=1
        is "$release: $install && $draw" $code
        inside 'sh every_tool.sh' && code=0 || code=1
        is "$release: every tool of it runs" $code
    done
done

# The other commands are for who builds. What tests/run.sh does is what CI does.
bare bookworm
headers
inside 'apt-get -q update' || :
printf '%s\n' "$commands" | grep -vE '^(sudo )?(apt-get|tar|pip|trace2flame|tests/run.sh)' >"$out/build-commands"
while IFS= read -r command; do
    inside "$command" && code=0 || code=1
    is "from source: $command" $code
done <"$out/build-commands"
inside "trace2flame samples/h200/eager.trace > flame.svg && test -s flame.svg" && code=0 || code=1
is 'from source: it runs' $code
echo "1..$checks"
exit $failed
