#!/bin/sh
test_description='work grows with the number of what a file holds: basic blocks that the tools run, counted'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

# Counts need no clock: schema/planted.t builds the tools once more, each basic block of them counted (gcc and clang can). Work in the
# C library is not, such as what memmove() moves; tests/bench/growth.py measures all of it.
[ -z "$GP_SANITIZED" ] || { echo "1..0 # SKIP the plain build counts"; exit 0; }
counted=${GP_BIN%/bin}/counted
[ -e "$counted/counts" ] || { echo "1..0 # SKIP schema/planted.t has built nothing that counts"; exit 0; }

for shape in $("$GP_SOURCE/tests/bench/growth.py" --list); do
    test_expect_success "$shape: the exponent is at most 1.15 with every tool" '
        GP_BIN=$counted/bin "$GP_SOURCE/tests/bench/growth.py" --count -n 8000 $shape >$shape.out || { cat $shape.out; return 1; }
    '
done

test_expect_success 'the counter counts: 16 times the steps are about 16 times the blocks' '
    awk "\$(NF - 1) < \$(NF - 2) * 4 || \$(NF - 1) < 1e7 { bad = 1 } END { exit bad || NR < 10 }" steps.out
'

test_done
