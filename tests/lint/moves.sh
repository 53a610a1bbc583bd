#!/bin/sh
# An index is known before the array is: C does not say whether `v.at[add(v)]` reads v.at before or after add() has moved
# it. No index expression calls a function that can make an array grow, by itself or through what it calls.
. "$(dirname "$0")/lib.sh"

# FILE:LINE: ..., for every index expression of the sources in FOLDER... that calls such a function.
moved_by_index() {
    find "$@" -name '*.[ch]' -type f | sort | xargs -r awk '
    function put_calls(text, file, from,    name) {
        while (match(text, /[A-Za-z_][A-Za-z0-9_]*[ ]*\(/)) {
            name = substr(text, RSTART, RLENGTH - 1)
            sub(/ +$/, "", name)
            if (name ~ /^(GP_VEC_PUSH|GP_VEC_RESERVE|gp_realloc|realloc)$/) moves[from] = 1
            else if (!((from, name) in seen)) {
                seen[from, name] = 1
                caller[++ncalls] = from; called[ncalls] = name; called_in[ncalls] = file
            }
            text = substr(text, RSTART + RLENGTH)
        }
    }
    # The text between "[" and its "]", of every index of a line of code.
    function put_indices(text,    depth, i, ch, at) {
        for (i = 1; i <= length(text); i++) {
            ch = substr(text, i, 1)
            if (ch == "[") start[++depth] = i
            if (ch == "]" && depth) {
                at = substr(text, start[depth] + 1, i - start[depth] - 1)
                if (at ~ /\(/) { index_text[++nindices] = at; index_place[nindices] = FILENAME ":" first_line }
                depth--
            }
        }
    }
    # A static function is its file'\''s own, the others are everybody'\''s.
    function key(file, name) { return (file, name) in statics ? file SUBSEP name : name }
    FNR == 1 { body = 0; head = ""; code = ""; comment = 0 }
    {
        line = $0
        gsub(/\\./, "_", line)
        gsub(/"[^"]*"/, "\"\"", line)
        gsub(/'\''[^'\'']*'\''/, "0", line)
        gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
        sub(/\/\/.*/, "", line)
        if (comment) { if (line !~ /\*\//) next; sub(/.*\*\//, "", line); comment = 0 }
        if (line ~ /\/\*/) { sub(/\/\*.*/, "", line); comment = 1 }
        if (line ~ /^[A-Za-z].*\(/ && line !~ /;[ ]*$/) head = line
        if (line ~ /^{/ && head != "") {
            name = head
            sub(/\(.*/, "", name)
            sub(/.*[ *]/, "", name)
            if (head ~ /^static/) statics[FILENAME, name] = 1
            body = 1
            function_name = head ~ /^static/ ? FILENAME SUBSEP name : name
        }
        if (line ~ /^}/) { body = 0; head = "" }
        if (!body) next
        if (code == "") first_line = FNR
        code = code line " "
        if (line !~ /[;{}:][ ]*$/) next
        sub(/#.*/, "", code)
        put_indices(code)
        text[++ntexts] = code; text_of[ntexts] = function_name; file_of[ntexts] = FILENAME
        code = ""
    }
    END {
        for (i = 1; i <= ntexts; i++) put_calls(text[i], file_of[i], text_of[i])
        for (changed = 1; changed;) {
            changed = 0
            for (i = 1; i <= ncalls; i++) {
                if (caller[i] in moves) continue
                if (key(called_in[i], called[i]) in moves) changed = moves[caller[i]] = 1
            }
        }
        for (i = 1; i <= nindices; i++) {
            rest = index_text[i]
            file = index_place[i]
            sub(/:.*/, "", file)
            while (match(rest, /[A-Za-z_][A-Za-z0-9_]*[ ]*\(/)) {
                name = substr(rest, RSTART, RLENGTH - 1)
                sub(/ +$/, "", name)
                if (key(file, name) in moves) print index_place[i] ": the index calls " name "(), which can move arrays"
                rest = substr(rest, RSTART + RLENGTH)
            }
        }
    }'
}

plant() {
    mkdir -p "$scratch/moves"
    cat >"$scratch/moves/a.c" <<'EOF'
static int pure(const struct v *v)
{
    return v->n;
}

int add(struct v *v, int x)
{
    GP_VEC_PUSH(v, x);
    return v->n - 1;
}

int add_two(struct v *v)
{
    add(v, 1); /* "[" in a comment ] */
    return add(v, 2);
}
EOF
    printf 'void f(struct v *v)\n{\n    int *p =\n        %s;\n    use(p);\n}\n' "$1" >"$scratch/moves/b.c"
    moved_by_index "$scratch/moves"
}

clean "no index expression moves what it indexes" moved_by_index formats analyze render collect tests
clean "indices that only read pass" plant '&v->at[w[number(v) + 1]]'
finds "planted: an index that pushes" 'b.c:3: .*add\(\)' plant '&v->at[add(v, 7)]'
finds "planted: one that pushes two calls down" 'b.c:3: .*add_two\(\)' plant '&v->at[w[1] + add_two(v)]'
done_checking
