# What a page has of a script: no indents and no lines of comment. No text spans lines (tests/lint/scripts.sh).
s/^ *//
/^\/\//d
/^\/\*.*\*\/$/d
/^\/\*/,/\*\/$/d
