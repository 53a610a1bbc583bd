#!/bin/sh
# What README.md and the other pages ask people to type and to read exists, and README.md is short.
. "$(dirname "$0")/lib.sh"

# The lines of code blocks that hold commands: all where the block is marked sh, those that begin with "$ " elsewhere.
commands_of() {
    awk '/^```/ { in_block = !in_block; all = in_block && /^```sh/; next }
        in_block && (all || /^\$ /) { sub(/^\$ /, ""); print FILENAME ":" FNR ": " $0 }' "$@"
}

# Programs and scripts of ours that do not exist, options of our tools that --help does not know.
bad_commands() {
    commands_of "$@" | while IFS= read -r line; do
        where=${line%%: *}
        text=$(printf '%s\n' "${line#*: }" | sed 's/#.*//')
        for word in $text; do
            case $word in
            samples/*.sh | tests/*.sh | .ci/run | ./samples/*.sh | ./tests/*.sh)
                [ -x "$word" ] || echo "$where: no such script: $word" ;;
            esac
        done
        printf '%s\n' "$text" | tr '|;&' '\n\n\n' | while read -r program rest; do
            program=${program##*/}
            tools | grep -qxF -- "$program" || continue
            [ -x "$GP_BIN/$program" ] || { echo "$where: $program is not built"; continue; }
            help=$("$GP_BIN/$program" --help </dev/null)
            for option in $rest; do
                case $option in
                --) break ;;
                --?*) printf '%s\n' "$help" | grep -qE -- "${option%%=*}([= ,]|\$)" ||
                    echo "$where: $program has no option ${option%%=*}" ;;
                -*) ;;
                *) [ "$program" != gpuprof-collect ] || break ;; # what follows are the program's own words
                esac
            done
        done
    done
}

bad_links() {
    for page; do
        grep -noE '\]\([^)#: ]+[)#]' "$page" | sed 's/^\([0-9]*\):\](\(.*\).$/\1 \2/' | while read -r line target; do
            [ -e "$(dirname "$page")/$target" ] || echo "$page:$line: no such file: $target"
        done
    done
}

# The first page is read by people who do not know yet whether they want to read it.
too_long() {
    lines=$(wc -l <"$1")
    [ "$lines" -le 275 ] || echo "$1: $lines lines, more than 275: move details to the page of their folder"
}

# The newest version of the change log is that of CMakeLists.txt, and each is read by users: the details are in commits.
bad_changes() {
    want=$(sed -n 's/^project(gpuprof VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
    awk -v page="$1" -v want="$want" 'function end() { if (lines > 45) print page ": " version ": " lines " lines, more than 45" }
        /^## / { end(); if (!version && $2 != "[" want "]") print page ": begins with " $2 ", but CMakeLists.txt has " want
            version = $2; lines = 0 }
        version { lines++ }
        END { end() }' "$1"
}

plant_changes() {
    printf '## [9.9.9]\n%s\n## [9.9.8]\n' "$(yes line | head -n 45)" >"$scratch/c.md"
    bad_changes "$scratch/c.md"
}

# Every folder of sources has a page, and what stands in the first column of its table of modules exists.
bad_rooms() {
    find formats analyze render collect -name '*.c' -type f | sed 's|/[^/]*$||' | sort -u | while IFS= read -r room; do
        [ -f "$room/README.md" ] || { echo "$room: no README.md"; continue; }
        case $room in
        */*) grep -q "(${room#*/}/README.md)" "${room%%/*}/README.md" 2>/dev/null ||
            echo "${room%%/*}/README.md: its map lacks ${room#*/}" ;;
        esac
        awk -F'|' '/^\| module \|/ { table = 1; next } !/^\|/ { table = 0 }
            table { n = split($2, word, "`"); for (i = 2; i <= n; i += 2) print FNR, word[i] }' "$room/README.md" |
            while read -r line module; do
                found=$(find "$room" -maxdepth 1 -name "$module.[ch]" | head -n 1)
                [ -n "$found" ] || echo "$room/README.md:$line: no such module: $module"
            done
    done
}

# Rows of a table that have another number of cells than its head: two rows that ran into each other, or one that was cut.
bad_tables() {
    for page; do
        awk -v page="$page" '/^```/ { code = !code } code { next }
            /^\|/ { line = $0; gsub(/`[^`]*`/, "", line); gsub(/\\\|/, "", line); cells = gsub(/\|/, "", line)
                if (!table) { table = 1; want = cells } else if (cells != want)
                    print page ":" FNR ": " cells - 1 " cells in a table of " want - 1
                next }
            { table = 0 }' "$page"
    done
}

plant_tables() {
    printf '| a | b |\n|---|---|\n| `x|y` | 2 |\n| 1 | 2 | 3 |\n' >"$scratch/t.md"
    bad_tables "$scratch/t.md"
}

plant_rooms() {
    mkdir -p "$scratch/rooms/formats/x" "$scratch/rooms/analyze/y" "$scratch/rooms/render" "$scratch/rooms/collect"
    cd "$scratch/rooms" || exit 1
    : >formats/x/here.c
    : >analyze/y/here.c
    printf '| module | what |\n|---|---|\n| `here`, `her*` | `not a module` |\n| `gone` | |\n' >formats/x/README.md
    bad_rooms
}

pages() {
    our_files | grep -E '\.md$'
}

# What a page shows of the output of one of our tools on a sample is what the tool prints first. Needs the tools.
bad_outputs() {
    for page; do
        awk -v out="$scratch/shown" '/^```/ { in_block = !in_block; shown = 0; next }
            in_block && /^\$ / { shown = /^\$ trace[a-z0-9-]* .*samples\// && !/>/ ? ++n : 0
                if (shown) print substr($0, 3) >(out "." n ".command"); next }
            in_block && shown && $0 != "..." { print >(out "." shown ".text") }' "$page"
        for command in "$scratch"/shown.*.command; do
            text=${command%.command}.text
            if [ -s "$text" ]; then
                (PATH=$GP_BIN:$PATH sh "$command") 2>&1 | head -n "$(wc -l <"$text")" | cmp -s - "$text" ||
                    echo "$page: not what this prints: $(cat "$command")"
            fi
        done
        rm -f "$scratch"/shown.*
    done
}

plant_outputs() {
    printf '```\n$ trace-hta --version samples/\ntrace-hta 0.0.0\n```\n```\n$ trace-hta --help samples/\n%s\n```\n' \
        "$("$GP_BIN/trace-hta" --help | head -n 1)" >"$scratch/o.md"
    bad_outputs "$scratch/o.md"
}

plant() {
    cat >"$scratch/p.md" <<'END'
See [this](nowhere.md) and [that](https://example.org/).
```sh
samples/no-such.sh --fast
```
```
not a command: samples/other.sh
$ samples/no-such-2.sh   # samples/in-a-comment.sh
```
END
    bad_commands "$scratch/p.md"
    bad_links "$scratch/p.md"
}

clean "commands on our pages exist" eval 'bad_commands $(pages)'
clean "what our pages show of an output is what is printed" eval 'bad_outputs $(pages)'
finds "planted: an output of another version" "o.md: .*--version" plant_outputs
clean "an output that is right is left alone" eval 'plant_outputs | grep -e --help; :'
clean "links on our pages lead somewhere" eval 'bad_links $(pages)'
finds "planted: a script that is not there" "p.md:3: no such script" plant
finds "planted: a script that is not there, after a prompt" "p.md:7: no such script" plant
clean "text that is not a command is left alone" eval 'plant | grep -E "other|comment"; :'
clean "README.md has at most 275 lines" too_long README.md
finds "planted: a README of 276 lines" "long.md: 276 lines" eval \
    'yes line | head -n 276 >"$scratch/long.md"; too_long "$scratch/long.md"'
finds "planted: a link to nothing" "p.md:1: no such file: nowhere.md" plant
clean "links to elsewhere are left alone" eval 'plant | grep https; :'
clean "CHANGELOG.md begins with this version and is short" bad_changes CHANGELOG.md
finds "planted: a version that is not this one" "c.md: begins with .9.9.9., but CMakeLists.txt has" plant_changes
finds "planted: a version of 46 lines" "c.md: .9.9.9.: 46 lines" plant_changes
clean "rows of a table have as many cells as its head" eval 'bad_tables $(pages)'
finds "planted: a row with a cell too many" "t.md:4: 3 cells in a table of 2" plant_tables
clean "a bar within code is left alone" eval 'plant_tables | grep ":3:"; :'
clean "every folder has a page, and the modules on it exist" bad_rooms
finds "planted: a folder without a page" "analyze/y: no README.md" eval '(plant_rooms)'
finds "planted: a map without a wing" "formats/README.md: its map lacks x" eval '(plant_rooms)'
finds "planted: a module that is not there" "formats/x/README.md:4: no such module: gone" eval '(plant_rooms)'
clean "modules that exist are left alone" eval '(plant_rooms | grep README.md:3; :)'
done_checking
