#!/bin/sh
# Every rule of trace-suggest has a test in which its case looks right and is wrong, and in which it says nothing.
. "$(dirname "$0")/lib.sh"

rules() {
    sed -n '/define GP_RULES/,/clang-format on/p' analyze/suggest/rules_table.h | grep -o 'X([a-z_]*)' | sed 's/X(//; s/)//' | grep -v '^rule$'
}

# RULE...: those without such a test.
unguarded() {
    for rule in "$@"; do
        grep -qE "is_silent\(.*\"$rule\"|${rule}_is_silent\(|\{\"$rule\", [a-z]|assert_null\(said\(.*\"$rule\"" tests/unit/analyze/suggest/*.c ||
            echo "$rule: no test in which it looks right and is wrong"
    done
}

# shellcheck disable=SC2046 # names without blanks
clean "each rule has a test in which it looks right and is wrong" unguarded $(rules)
finds "planted: a rule without one" "^no_such_rule: no test" unguarded no_such_rule
finds "the table has its rules" "^low_utilisation" rules
done_checking
