#!/bin/sh
# usage: tests/setup/install.sh [GROUP...]
# Installs those packages of tests/setup/packages.txt that are missing; GROUP is build, test, browser, bench, pack, site,
# optional or npm (default: build test). Debian 12 or newer, Ubuntu 24.04 or newer; elsewhere it only says what is needed.
set -eu
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- build test

packages() {
    for group; do awk -v g="$group" '$1 == g { print $2 }' "$here/packages.txt"; done
}

case " $* " in
*" npm "*) packages npm | xargs npm install --no-save --no-audit --no-fund --prefix "$here/../.." ;;
esac
[ "$*" != npm ] || exit 0
wanted=$(packages "$@" | grep -v @ || :)
if [ -z "$wanted" ]; then
    echo "install.sh: no such group: $*" >&2
    exit 2
fi

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# The presets need CMake 3.25; without them, as a release is built, 3.18 will do.
least=25
case " $* " in *" pack "*) least=18 ;; esac
check_cmake() {
    have=$(cmake --version 2>/dev/null | awk 'NR == 1 { print $3 }')
    major=${have%%.*}
    rest=${have#*.}
    minor=${rest%%.*}
    if [ -z "$have" ] || [ "$major" -lt 3 ] || { [ "$major" -eq 3 ] && [ "$minor" -lt $least ]; }; then
        cat >&2 <<END
install.sh: gpuprof needs CMake 3.$least or newer and this system has ${have:-none}.
Ubuntu 22.04 comes with 3.22. A newer one is had from https://apt.kitware.com/ or by
  pip install --user 'cmake>=3.25' && export PATH="\$HOME/.local/bin:\$PATH"
END
        exit 1
    fi
}

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    echo "install.sh: not a Debian or Ubuntu system; what is needed, by its Debian names:" $wanted >&2
    check_cmake
    exit 0
fi

missing=
for p in $wanted; do is_installed "$p" || missing="$missing $p"; done
if [ -n "$missing" ]; then
    sudo=
    if [ "$(id -u)" -ne 0 ]; then
        sudo=sudo
        if ! command -v sudo >/dev/null 2>&1; then
            echo "install.sh: as root, run: apt-get install$missing" >&2
            exit 1
        fi
    fi
    echo "installing:$missing"
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    # A list that is missing or too old to install from is fetched, and only then. What apt says is shown when it fails.
    known=yes
    for p in $missing; do
        apt-cache policy "$p" 2>/dev/null | grep -q 'Candidate: [0-9]' || known=no
    done
    apt() {
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@" </dev/null >"$log" 2>&1
    }
    [ "$known" = yes ] || apt update || :
    if ! apt install --no-install-recommends $missing; then
        apt update || :
        apt install --no-install-recommends $missing || { cat "$log"; exit 1; }
    fi
fi
check_cmake
