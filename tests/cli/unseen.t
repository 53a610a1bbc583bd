#!/bin/sh
test_description='samples/unseen: the list of programs, and the runner, which keeps what it has'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
unseen=$samples/unseen

test_expect_success 'the README lists the programs as they are, and their rules exist' '
    python3 "$unseen/second.py" list >second && test "$(grep -c "^| [a-z]" second)" = 13 &&
    python3 "$unseen/programs.py" list >list && test "$(grep -c "^| [a-z]" list)" = 13 && sed 1,2d second >>list &&
    grep -Fxf list "$unseen/README.md" | awk "!seen[\$0]++" >found && test_cmp list found &&
    trace-suggest --list-rules | sed -n "s/^\([a-z_]*\) (.*/\1/p" >rules &&
    sed "s/.*| \(.*\) |$/\1/" list | grep -o "\`[a-z_]*\`" | tr -d "\`" | sort -u >named &&
    test "$(wc -l <named)" -gt 5 && ! grep -vxFf rules named
'

for list in third fourth fifth sixth seventh eighth; do
    test_expect_success "the README lists the $list twelve as they are" '
        python3 "$unseen/$list.py" list | cut -d"|" -f1-5 | grep "^| [a-z]" >listed && test "$(wc -l <listed)" = 13 &&
        sed -n "/^## The $list list/,/^## What/s/^| [a-z]/&/p" "$unseen/README.md" | cut -d"|" -f1-5 >found && test_cmp listed found
    '
done

# The runner beside programs that need no GPU, and a recorder that gives every program the same recording.
mkdir stub bin && cp "$unseen/record.py" stub/ && ln -s "$(command -v trace-suggest)" bin/
cat >stub/running.py <<'EOF'
PROGRAMS = {}
EOF
cat >stub/programs.py <<'EOF'
import collections, sys, time
from running import PROGRAMS
Program = collections.namedtuple("Program", "library fix rules")
for name, rules in (("fine", ("experts", "optimizer")), ("broken", ()), ("hanging", ())):
    PROGRAMS[name] = Program("torch", "another", rules)
if __name__ == "__main__":
    if sys.argv[1] == "broken":
        raise ValueError("no such layer")
    if sys.argv[1] == "hanging":
        time.sleep(1000)
    if "--torch" in sys.argv:
        sys.exit("cannot be recorded")
    print("result=[1.0, 2.0]")
    print("fine step_ms=" + ("2.5" if "--fixed" in sys.argv else "4.0"))
EOF
cat >bin/gpuprof-collect <<END
#!/bin/sh
while test "\$1" != --; do test "\$1" != -o || cp "$samples/pairs/small.trace" "\$2"; shift; done
shift
exec "\$@"
END
chmod +x bin/gpuprof-collect

test_expect_success 'what fails or hangs is named, the rest is timed, recorded and packed' '
    python3 stub/record.py out --bin bin --gpus 2 --limit 2 --seconds 60 >log &&
    grep "^fine (torch): \[4.0, 4.0\] -> \[2.5, 2.5\] ms, saves 1.500, results equal" log && grep "\*[1-4]. optimizer " log &&
    grep "FAILED torch, exit status 1: cannot be recorded" log && grep "ValueError: no such layer" log &&
    grep "FAILED bare, exit status -9: ended after 2 s" log && grep -Fxf out/table.txt log >shown && test_cmp out/table.txt shown &&
    tar tf out/recordings-0.tar | sort >packed && printf "%s\n" broken.trace fine.trace hanging.trace >expected && test_cmp expected packed
'

test_expect_success 'the second list is run by its name, on the GPUs that are given' '
    cp stub/programs.py stub/second.py && sed -i "s/2.5/4.5/" stub/second.py &&
    python3 stub/record.py other --programs second --only fine --bin bin --gpus 1,0 --seconds 30 >log &&
    grep "^fine (torch): \[4.0, 4.0\] -> \[4.5, 4.5\] ms" log && grep "^fine .*said .*, other processes 4.000, 4.000: " log
'

# first_fixes LIST FOLDER: the programs of LIST whose first advice names the known fix, by the recordings in FOLDER
first_fixes() {
    python3 "$unseen/$1.py" list | sed "1,2d; s/^| \([a-z]*\) .*| \(.*\) |$/\1 \2/" | tr -d "\`," >rules &&
    while read -r name names; do
        test -e "$unseen/$2/$name.trace" || continue
        first=$(trace-suggest -q -f json "$unseen/$2/$name.trace" | jq -r ".suggestions[0].rule") || return
        case " $names " in *" $first "*) echo "$name" ;; esac
    done <rules
}

test_expect_success 'the known fix is first in recordings of all but the first list, as their README says' '
    first_fixes second h200 >found &&
    printf "%s\n" speculation advantages neighbours spectrograms columns waves activations sampler outputs >expected && test_cmp expected found &&
    first_fixes third h100 >found && printf "%s\n" replay readout bands >expected && test_cmp expected found &&
    first_fixes fourth h200 >found && printf "%s\n" requests policy private regression photographs neurons interactions continuation >expected && test_cmp expected found &&
    first_fixes fifth h200 >found && printf "%s\n" penalties rollout voices histograms workers frames noise ranking pretraining >expected && test_cmp expected found
'

test_expect_success 'the recordings can be asked about again' '
    cp out/table.txt before && python3 stub/record.py out --bin bin --gpus 1 --again >again && test_cmp before again
'

test_expect_success 'all programs are timed twice before any is recorded by another profiler' '
    cp stub/programs.py stub/ordered.py && sed -i "s/(\"broken\", ()), (\"hanging\", ())/(\"other\", ())/; s/\"fine step_ms/sys.argv[1] + \" step_ms/" stub/ordered.py &&
    python3 stub/record.py order --programs ordered --bin bin --gpus 1 --seconds 60 >log && sed -n "s/: \([a-z]* done\) after .*/ \1/p" log >found &&
    printf "%s\n" "fine first done" "other first done" "fine times done" "other times done" "fine others done" "other others done" >expected &&
    test_cmp expected found && grep "^other (torch): \[4.0, 4.0\] -> \[2.5, 2.5\] ms" log
'

test_expect_success 'when time is up, what was not run is said' '
    python3 stub/record.py short --bin bin --gpus 1 --seconds 4 >log && grep "no time was left for gpuprof, bare, fixed" log
'

test_expect_success 'a program that is not listed is an error' '
    test_expect_code 2 python3 stub/record.py other --only no_such 2>err && grep "no_such: no such program" err
'

test_done
