#!/bin/sh
# The scripts of the pages: they parse, insert names only as text, run nothing that came as text, reach for no network,
# declare nothing that they do not use, and are small: what one page has of them.
. "$(dirname "$0")/lib.sh"
command -v node >/dev/null 2>&1 || skip_all "node is missing"
most=157000 # bytes of the scripts and styles of one page; 2,000 of them say whose a function is and what a gap was spent on

page_scripts() {
    our_files | grep -E '^render/assets/.*\.js$'
}

unparsed() {
    for script; do
        node --check "$script" 2>&1 | sed -n '1p;/Error/p'
    done
}

# Ways to turn text into markup or into a script.
markup() {
    grep -nE '\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|srcdoc|parseFromString|setHTMLUnsafe)\b|document\.write|\beval\(|new Function\(|\bset(Timeout|Interval)\([[:space:]]*["'\''`]|javascript:' "$@" /dev/null
}

# Ways to the network, and addresses (but the names of XML's vocabularies, which nobody opens).
network() {
    grep -nE '\b(fetch|importScripts|sendBeacon)\(|\bimport[[:space:](]|XMLHttpRequest|WebSocket|WebTransport|EventSource|RTCPeerConnection|serviceWorker|new (Shared)?Worker|https?://|url\(' "$@" /dev/null |
        sed -E 's,"http://www\.w3\.org/(2000/svg|1999/xhtml|1999/xlink)",,g' |
        grep -E '\b(fetch|importScripts|sendBeacon)\(|import[[:space:](]|XMLHttpRequest|WebSocket|WebTransport|EventSource|RTCPeerConnection|serviceWorker|Worker|https?://|url\([^#)]'
}

# FILE:LINE: names that are declared and never said again.
unused() {
    node -e '
        for (const file of process.argv.slice(1)) {
            const text = require("fs").readFileSync(file, "utf8"), plain = text.replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, (c) => c.replace(/[^\n]/g, " "));
            const code = plain.replace(/"(?:[^"\\\n]|\\.)*"/g, (s) => " ".repeat(s.length));
            for (const m of code.matchAll(/\b(?:const|let|function|class)\s+([A-Za-z_$][\w$]*)/g)) {
                const all = plain.match(new RegExp("(?<![\\w$])" + m[1].replace(/\$/g, "\\$&") + "(?![\\w$])", "g"));
                if (all.length === 1) console.log(`${file}:${plain.slice(0, m.index).split("\n").length}: ${m[1]} is not used`);
            }
        }' "$@"
}

# What the build makes of the files of a page: see render/CMakeLists.txt.
embedded() {
    case $1 in
    timeline) sed -f render/bare.sed ;;
    *) cat ;;
    esac
}

# Lines may go, because none is within a text.
texts_of_lines() {
    awk '{ if (gsub(/`/, "`") % 2) print FILENAME ":" FNR ": a text of several lines" }' render/assets/timeline*.js
}

too_large() {
    for page in timeline flame_page report; do
        n=$({ cat render/assets/shell.* render/assets/$page*.css; cat render/assets/$page*.js | embedded "$page"; } | wc -c)
        [ "$n" -le $most ] || echo "$page: the scripts and styles have $n bytes, more than $most"
    done
}

plant() {
    printf 'const x = {;\n' >"$scratch/a.js"
    printf 'element.innerHTML = name;\n' >"$scratch/b.js"
    printf 'fetch("data.json");\nconst ns = "http://www.w3.org/2000/svg";\nlocation = "https://example.org/";\n' >"$scratch/c.js"
    printf '// left\nconst left = 1;\n' >"$scratch/d.js"
    unparsed "$scratch/a.js"
    markup "$scratch/b.js"
    network "$scratch/c.js"
    unused "$scratch/d.js"
}

# shellcheck disable=SC2016
{
    clean "scripts parse" eval 'unparsed $(page_scripts) $(our_files | grep "^tests/browser/.*\.js\$")'
    clean "no name becomes markup, no text a script" eval 'markup $(page_scripts) || true'
    # trace-serve's own pages ask the server that they came from; their policy stops everything beyond that.
    clean "nothing reaches for the network" eval \
        'network $(page_scripts) $(ls render/assets/*.css) | grep -v "^render/assets/serve\.js:.*\(fetch\|EventSource\)(" || true'
    clean "what is declared is used" eval 'unused $(page_scripts)'
}
clean "no text of the timeline's scripts spans lines" texts_of_lines
clean "scripts and styles are small: at most $most bytes a page" too_large
finds "planted: a script that does not parse" "SyntaxError" plant
finds "planted: a name that becomes markup" "b.js:1:" plant
finds "planted: a request" "c.js:1:" plant
finds "planted: an address" "c.js:3:" plant
finds "planted: a name that nothing uses" "d.js:2: left is not used" plant
done_checking
