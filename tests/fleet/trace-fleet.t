#!/bin/sh
test_description='trace-fleet: simulated ranks, secrets, sockets, hostile messages'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

make_digests=${GP_BIN%/bin}/tests/make_digests
short=$(mktemp -d) || exit 1 # the scratch folder is deep, and the name of a socket short
servers=
trap 'kill $servers 2>/dev/null; wait; rm -rf "$short"; exit' EXIT
# start NAME ARG... -- a trace-fleet in the background that listens at $short/NAME; its number in NAME_pid.
start() {
    name=$1
    shift
    trace-fleet --duration 120 -l $short/$name "$@" >$name.out 2>$name.err &
    eval "${name}_pid=$!"
    servers="$servers $!"
    for i in $(seq 600); do [ ! -S $short/$name ] || return 0; sleep 0.05; done
    return 1
}
# end NAME -- its exit status, once it has written everything.
end() { eval "kill \$${1}_pid && wait \$${1}_pid"; }

test_expect_success 'a slow rank and a slow kernel are named within 15 seconds, with their causes' '
    "$make_digests" 64 45 20 7 - compute:50:5 kernel:9:20:4 >digests && trace-fleet -f json digests >out &&
    python3 - out "$GP_SOURCE/schemas/trace-fleet.schema.json" <<END
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
try:
    import jsonschema
    for line in lines:
        jsonschema.validate(line, json.load(open(sys.argv[2])))
except ImportError:
    pass
slow = {line["rank"]: line for line in lines if line["event"] == "slow"}
assert sorted(slow) == [9, 50] and len(lines) == 2, lines
assert all(20e9 < line["time_ns"] <= 35e9 for line in lines)
assert slow[50]["cause"] == slow[9]["cause"] == "compute" and slow[50]["kernel"] is None
assert slow[9]["kernel"] == "sm90_xmma_gemm_bf16_up"
assert abs(slow[50]["own_ns"] / slow[50]["usual_ns"] - 1.05) < 0.01
END
'

test_expect_success 'a clean job: nothing is reported, and the state is OpenMetrics' '
    "$make_digests" 64 45 99 7 - >clean && trace-fleet clean >out && test_must_be_empty out &&
    trace-fleet -f openmetrics -o metrics clean && grep "^gpuprof_fleet_ranks 64$" metrics &&
    grep "^gpuprof_fleet_digests_total 2880$" metrics && test "$(tail -n 1 metrics)" = "# EOF" &&
    ! grep "^gpuprof_fleet_slow_seconds{" metrics &&
    trace-fleet -f openmetrics digests >metrics && grep "^gpuprof_fleet_slow_seconds{what=\"rank\",rank=\"50\"" metrics
'

test_expect_success 'what recovers is reported' '
    "$make_digests" 16 80 20:40 7 - compute:5:10 >digests && trace-fleet digests >out && test "$(wc -l <out)" -eq 2 &&
    sed -n 1p out | grep "Rank 5 holds up the others" && sed -n 2p out | grep "Rank 5 is no longer slow"
'

test_expect_success 'ranks that end are silent, each on a line or many on one' '
    "$make_digests" 8 30 99 7 - >ended && "$make_digests" 4 60 99 7 - >rest && cat ended rest >both &&
    trace-fleet both >out && test "$(grep -c "Rank [4-7] has sent nothing for 1[0-9].0 s" out)" -eq 4 &&
    "$make_digests" 40 30 99 7 - >ended && cat ended rest >both && trace-fleet -f json both >out &&
    jq -e "select(.event == \"silent\") | .ranks == 36 and .rank == 4" out && test "$(wc -l <out)" -eq 1
'

test_expect_success 'one rank, compared with its own past: the kernel that became slower, and the whole' '
    "$make_digests" 1 90 40 7 - kernel:0:30:4 >digests && trace-fleet -f json digests >out &&
    jq -es "map(select(.event == \"changed\")) | length == 1 and .[0].kernel == \"sm90_xmma_gemm_bf16_up\"
        and .[0].time_ns <= 55e9" out &&
    "$make_digests" 1 90 60 7 - compute:0:20 >digests && trace-fleet -f json digests >out &&
    jq -es "map(select(.event == \"all_slower\")) | length == 1 and .[0].cause == \"compute\"" out
'

test_expect_success 'a secret: only what is signed with it is used' '
    echo long-enough >secret && chmod 600 secret && echo another-one >other && chmod 600 other &&
    "$make_digests" 4 12 99 7 secret >signed && trace-fleet --secret secret -f openmetrics signed >out &&
    grep "^gpuprof_fleet_digests_total 48$" out &&
    status_of trace-fleet --secret other signed && test "$status" -eq 2 &&
    grep "refused 48 of 48 messages: damaged, or not signed" err &&
    status_of trace-fleet signed && test "$status" -eq 2 &&
    { cat signed clean; } >mixed && status_of trace-fleet --secret secret mixed && test "$status" -eq 0 &&
    grep "refused 2880 of 2928" err && status_of trace-fleet --strict --secret secret mixed && test "$status" -eq 2 &&
    chmod 644 secret && status_of trace-fleet --secret secret signed && test "$status" -eq 2 &&
    grep "others can read this secret" err && chmod 600 secret &&
    : >none && chmod 600 none && status_of trace-fleet --secret none signed && test "$status" -eq 2 &&
    grep "8 bytes or more" err
'

test_expect_success 'addresses: others only with a secret; damage is refused or named' '
    status_of trace-fleet --listen 0.0.0.0:0 && test "$status" -eq 2 && grep "others reach this address" err &&
    status_of trace-fleet --listen nonsense && test "$status" -eq 2 && grep "expected HOST:PORT" err &&
    status_of trace-fleet --send nonsense </dev/null && test "$status" -eq 2 && grep "expected HOST:PORT" err &&
    status_of trace-fleet --send ./none </dev/null && test "$status" -eq 2 && grep "not a recording" err &&
    head -c 1000 clean >cut && status_of trace-fleet cut && test "$status" -eq 2 && grep "ends within a digest" err &&
    printf "\004\000abcd" >bad && status_of trace-fleet bad && test "$status" -eq 2 && grep "refused 1 of 1" err &&
    status_of trace-fleet -o none/out clean && test "$status" -eq 2 && grep "none/out: cannot write" err
'

test_expect_success 'a recording is sent through a forwarder to a socket, and recorded there' '
    start root -f openmetrics -o metrics --record recorded && start leaf --forward $short/root &&
    test "$(stat -c %a $short/root)" = 600 &&
    trace-fleet -v --send $short/leaf <"$samples/pairs/ddp_skewed.trace" 2>err && grep "sent 2 digests, dropped 0" err &&
    end leaf && end root && grep "^gpuprof_fleet_digests_total 2$" metrics && test ! -e $short/root &&
    trace-fleet -f openmetrics recorded >again && grep "^gpuprof_fleet_digests_total 2$" again
'

# What a peer may send: nothing, half messages, long ones, noise, the same again, a flood. Each ends; the good ones still count.
test_expect_success 'hostile peers: refused and counted, and the others are heard' '
    start host --secret secret -f openmetrics -o state &&
    python3 - $short/host signed <<END
import os, socket, struct, sys
good, data = [], open(sys.argv[2], "rb").read()
while data:
    n = struct.unpack("<H", data[:2])[0]
    good.append(data[2:2 + n])
    data = data[2 + n:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.connect(sys.argv[1])
for m in (b"", b"GPD2", good[0][:40], good[0][:-1], good[0] + b"x", os.urandom(3000), b"\0" * 60000, good[0][:20] + b"\xff" * 900):
    s.send(m)
for i in range(20000):
    s.send(b"GPD2" + struct.pack("<Q", i) + good[0][12:])
for m in good[:8] + good[:8]:
    s.send(m)
s.close()
END
    end host && grep "^gpuprof_fleet_digests_total 8$" state && grep "^gpuprof_fleet_late_total 8$" state &&
    grep "refused 20008 of 20024 messages" host.err
'

test_expect_success 'UDP on loopback: what nobody hears is dropped and counted, and then it is heard' '
    port=$(python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((\"127.0.0.1\", 0))
print(s.getsockname()[1])") &&
    { trace-fleet --duration 60 -l 127.0.0.1:$port --record udp >/dev/null 2>udp.err & udp_pid=$!; } &&
    servers="$servers $udp_pid" &&
    on_some_try "trace-fleet --send 127.0.0.1:$port <\"\$samples/pairs/ddp_skewed.trace\"; sleep 0.2; test -s udp" &&
    end udp && trace-fleet -f openmetrics udp | grep "^gpuprof_fleet_digests_total [1-9]"
'

test_expect_success 'every cause has its name, and clean jobs give no alarm' '
    for fault in compute host copy link; do
        "$make_digests" 32 40 15 7 - $fault:11:6 | trace-fleet -f json - >out &&
        jq -es "map(select(.event == \"slow\")) | length == 1 and .[0].rank == 11 and .[0].time_ns <= 30e9
            and .[0].cause == ({copy: \"copies\"}.$fault // \"$fault\")" out || return 1
    done &&
    for seed in 1 2 3 4; do "$make_digests" 64 40 99 $seed - | trace-fleet - || return 1; done >out &&
    test_must_be_empty out
'

# Once it has read everything, which is before its input ends.
test_expect_success 'memory does not grow with time, and by less than 1 KB per rank' '
    "$make_digests" 2000 12 99 7 - >job && "$make_digests" 64 90 99 7 - >long && peak() { python3 -c "
import array, fcntl, re, subprocess, sys, termios, time
p = subprocess.Popen([\"trace-fleet\", \"-\"], stdin=subprocess.PIPE)
p.stdin.write(open(sys.argv[1], \"rb\").read())
p.stdin.flush()
left = array.array(\"i\", [1])
while left[0]:
    time.sleep(0.01)
    fcntl.ioctl(p.stdin, termios.FIONREAD, left)
print(re.search(r\"VmHWM:\\s+([0-9]+)\", open(f\"/proc/{p.pid}/status\").read())[1])
p.stdin.close()
assert not p.wait()" "$@"; } &&
    few=$(peak clean) && later=$(peak long) && many=$(peak job) && echo "$few $later $many KB" &&
    { test -n "$GP_SANITIZED" || { test "$later" -lt $((few + 300)) && test "$many" -lt $((few + 1936)); }; }
'

test_done
