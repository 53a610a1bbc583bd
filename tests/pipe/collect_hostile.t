#!/bin/sh
# What a hostile program, another user of the machine and a full disk may do to a recording, and what they may not.
test_description='gpuprof-collect: launchers that are gone or false, descriptors and disks that are used up'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"

evil=$mock/evil
inject=$GP_LIB/libgpuprof-inject.so
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && test_set_prereq ROOT
unshare -rm true 2>/dev/null && test_set_prereq MOUNT
unshare -rn true 2>/dev/null && test_set_prereq NETWORK
ldd "$app_file" | grep -q 'lib[at]san' || test_set_prereq PLAIN # sanitizers need all addresses

# alone NAME COMMAND... -- run as a traced process of whoever listens at NAME.
alone() {
    name=$1
    shift
    env GPUPROF_SOCKET="$name" CUDA_INJECTION64_PATH="$inject" timeout 60 "$@"
}

# false_launcher KIND -- somebody listens at @evil-$$-KIND; the file `told` gets what came.
false_launcher() {
    rm -f told
    timeout 60 "$evil" serve "@evil-$$-$1" "$1" >told 2>&1 &
    server=$!
    i=0
    while ! grep -q listening told 2>/dev/null; do
        i=$((i + 1))
        [ $i -lt 200 ] || return 1
        sleep 0.05
    done
}

# ---- launchers ----

test_expect_success 'a launcher that is killed: the program runs to its end, what was written stays, later processes run untraced' '
    rm -f killed* && cat >run.sh <<-END &&
	$app die return 1000 4000
	echo \$? >first
	$app die return 10 0
	echo \$? >second
	touch over
	END
    { $collect -o killed sh run.sh >out 2>err & } && pid=$! &&
    while ! { facts killed.partial-* && grep "^gpu [1-9]" facts; } 2>/dev/null; do sleep 0.1; done && kill -KILL $pid && { wait $pid; test $? = 137; } &&
    i=0 && while test ! -e over && test $i -lt 600; do sleep 0.1; i=$((i + 1)); done &&
    echo 5 >expect && test_cmp expect first && test_cmp expect second &&
    test ! -e killed && facts killed.partial-* && grep "^gpu [1-9]" facts
'

test_expect_success ROOT 'the name is taken by another user: nothing is sent there, and the program runs' '
    false_launcher other && status_of alone @evil-$$-other $app die return 100 300 && test $status = 5 &&
    grep "the launcher belongs to another user (65534): this process runs untraced" err &&
    wait $server && grep "^hello 0, then 0 bytes" told
'

test_expect_success 'memory that can shrink is not used: no SIGBUS' '
    false_launcher shrink && status_of alone @evil-$$-shrink $app die return 1000 500 && test $status = 5 &&
    grep "cannot create buffers: Operation not permitted: this process runs untraced" err && wait $server
'

test_expect_success 'a welcome that cannot be is not believed' '
    for kind in zero huge flush; do
        false_launcher $kind && status_of alone @evil-$$-$kind $app die return 100 0 && test $status = 5 &&
        grep "the answer of the launcher is not valid: this process runs untraced" err && wait $server || return 1
    done
'

test_expect_success 'a launcher that does not answer, or takes nobody off its queue, is waited for so long and no longer' '
    false_launcher silent && status_of alone @evil-$$-silent $app die return 100 0 && test $status = 5 &&
    grep "the launcher does not answer: this process runs untraced" err && wait $server &&
    false_launcher full && status_of alone @evil-$$-full $app die return 100 0 && test $status = 5 &&
    grep "the launcher does not answer: this process runs untraced" err && kill $server
'

# ---- clients ----

test_expect_success ROOT 'processes of other users are refused, and counted' '
    chmod o+x . && status_of $collect -o t setpriv --reuid 65534 --clear-groups $app die return 10 0 && test $status = 5 &&
    grep "1 connection of another user was refused" err && facts t && has gpu 0
'

test_expect_success NETWORK 'processes that cannot reach the launcher: it says that nothing was recorded' '
    rm -f t && status_of $collect -o t unshare -rn $app die return 10 0 && test $status = 5 &&
    grep "no process used CUDA, or the recording library was not loaded" err && facts t && has gpu 0 &&
    status_of $collect -o t2 true && grep "no process used CUDA" err &&
    status_of $collect -q -o t3 true && test_must_be_empty err
'

# The launcher has 64 descriptors. That it waits instead of trying again and again is seen by its processor time, of
# which it needs some hundredths of a second.
test_expect_success 'five hundred connections for 64 descriptors: who finds no room runs untraced, and the launcher rests' '
    cat >crowd.sh <<-END &&
	for i in 1 2 3 4 5 6 7 8 9 10; do timeout 60 $evil connect 50 >held.\$i & done
	for i in 1 2 3 4 5 6 7 8 9 10; do while test ! -s held.\$i; do sleep 0.05; done; done
	$app die return 10 0
	echo \$? >ended
	sleep 2
	kill \$(jobs -p)
	END
    (ulimit -n 64 && ulimit -t 10 && status_of $collect -o t bash crowd.sh && test $status != 137 && test $status != 152) &&
    echo 5 >expect && test_cmp expect ended && grep "run untraced: Too many open files" err && facts t
'

test_expect_success PLAIN 'a process with few addresses gets less memory' '
    (ulimit -v 600000 && status_of $collect -o t $app die return 100 300 && test $status = 5) && facts t && has gpu 100 &&
    ! grep untraced err
'

test_expect_success 'a reader that exits before anything is recorded is named as the reason' '
    { $collect sh -c "sleep 1" 2>err; } | true && cat err &&
    grep "stopped because the reader exited before a process was recorded: nothing was recorded" err
'

# ---- what is private ----

# Markers and values are texts of the trace: nothing of the command line is among them unless it is asked for.
test_expect_success 'the command line is not stored; with --command it is, without what looks like a secret' '
    $collect -q -o t $app launch 10 1 1 marker-7d1 --api-key=SECRET1 && ! grep -a "marker-7d1\|SECRET1\|\"command\"" t &&
    $collect -q --command -o t $app launch 10 1 1 marker-7d1 --api-key=SECRET1 --token SECRET2 HF_TOKEN=SECRET3 \
        id=AKIAIOSFODNN7EXAMPLE x=0123456789abcdef0123456789abcdef --lr=0.1 --data=/a/b/c &&
    trace-convert -q --to chrome -o out.json t && grep "marker-7d1" out.json && ! grep "SECRET\|AKIA\|0123456789abcdef" out.json &&
    grep -F "\"--api-key=***\",\"--token\",\"***\",\"HF_TOKEN=***\",\"id=***\",\"x=***\",\"--lr=0.1\",\"--data=/a/b/c\"" out.json
'

test_expect_success '--redact: names of ranges, threads and processes are not stored, and the figures are the same' '
    $collect -q -o plain $app graph late && $collect -q --redact -o hidden $app graph late &&
    grep -a "attention" plain && ! grep -a "attention\|warm-up\|uuid" hidden &&
    trace-convert -q --redact -o made plain && ! grep -a "attention\|warm-up" made &&
    for t in plain hidden made; do trace2flame -q -f folded $t | sed "s/.* //" | sort -n >$t.sums || return 1; done &&
    test_cmp plain.sums hidden.sums && test_cmp plain.sums made.sums &&
    trace2flame -q -f folded hidden >hidden.folded && trace2flame -q -f folded made >made.folded && test_cmp hidden.folded made.folded &&
    grep "r-[0-9a-f]*;mlp 1800" made.folded && status_of $collect --redact --command -o t true && test $status = 125 && grep "redact" err
'

# ---- files ----

test_expect_success 'a run that records nothing keeps the trace that was there, and the status of its command' '
    $collect -q -o good $app launch 10 1 1 && cp good before &&
    status_of $collect -o good false && test $status = 1 && cmp before good &&
    grep "^gpuprof-collect: good: kept as it was, because nothing was recorded" err &&
    status_of $collect -q -o good true && test $status = 0 && cmp before good && grep "good: kept as it was" err &&
    status_of $collect -o good /nonexistent && test $status = 127 && cmp before good &&
    ln -s good good.link && status_of $collect -o good.link false && cmp before good && test -L good.link &&
    : >empty && status_of $collect -o empty false && test -s empty && test "$(echo good* empty*)" = "good good.link empty" &&
    status_of $collect -o good $app die return 3 0 && test $status = 5 && facts good && has gpu 3
'

# The file has what was put whole: it is read without a word but that it ends early.
test_expect_success MOUNT 'a disk of 64 KiB: what fits is kept, and how much that is' '
    mkdir -p small && cat >full.sh <<-END &&
	mount -t tmpfs -o size=64k none small &&
	$collect -o small/t $app launch 300000 1 1 >out 2>err
	echo \$? >ended
	ls small >names
	cp small/t kept
	END
    unshare -rm sh full.sh && echo 125 >expect && test_cmp expect ended && echo t >expect && test_cmp expect names &&
    grep "^gpuprof-collect: small/t: No space left on device: kept the first [0-9]* bytes" err &&
    test "$(sed -n "s/.*kept the first \([0-9]*\) bytes.*/\1/p" err)" = "$(wc -c <kept)" &&
    facts kept && grep "^gpu [1-9]" facts && has issue:truncated 1 && lacks issue:bad_block
'

test_expect_success 'a link is followed, not replaced' '
    mkdir -p place && ln -sf place/real.trace link && ln -sf place/none.trace dangling &&
    echo old >place/real.trace && $collect -q -o link $app launch 10 1 1 && test -L link && facts place/real.trace && has gpu 10 &&
    $collect -q -o dangling $app launch 10 1 1 && test -L dangling && facts place/none.trace && has gpu 10 &&
    ls place >names && printf "%s\n" none.trace real.trace >expect && test_cmp expect names
'

test_expect_success 'a device that is full is named' '
    status_of $collect -o /dev/full $app launch 10 1 1 && test $status = 125 &&
    grep "^gpuprof-collect: /dev/full: No space left on device" err
'

test_expect_success 'a limit on the size of files is an error, and the command keeps the signal' '
    (ulimit -f 400000 && status_of $collect -o t sh -c "ulimit -f 1 && exec dd if=/dev/zero of=big bs=4096 count=1") &&
    test $status != 2 && test -e t
'

test_done
