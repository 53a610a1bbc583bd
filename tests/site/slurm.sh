#!/bin/sh
# slurm.sh BUILD: a cluster of one node on loopback, by Debian's slurm-wlm, runs steps with and without the plugin of samples/site on
# the mock GPU. Needs root, slurm-wlm and libslurm-dev. Prints TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
site=$here/../../samples/site
for need in slurmctld slurmd srun cc; do
    command -v $need >/dev/null && [ -e /usr/include/slurm/spank.h ] || { echo "1..0 # SKIP no $need, or no slurm/spank.h"; exit 0; }
done
work=$(mktemp -d)
stop() {
    [ ! -s "$work/slurmd.pid" ] || kill "$(cat "$work/slurmd.pid")"
    [ ! -s "$work/slurmctld.pid" ] || kill "$(cat "$work/slurmctld.pid")"
    rm -rf "$work"
}
trap stop EXIT
mkdir "$work/state" "$work/spool"
cc -shared -fPIC -Wall -Wextra -Werror -o "$work/spank_gpuprof.so" "$site/spank_gpuprof.c" || exit 1
echo "required $work/spank_gpuprof.so task=$site/gpuprof-task" >"$work/plugstack.conf"
cat >"$work/slurm.conf" <<END
ClusterName=one
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
PlugStackConfig=$work/plugstack.conf
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
END
echo 'CgroupPlugin=cgroup/v1' >"$work/cgroup.conf"
export SLURM_CONF="$work/slurm.conf" PATH="$build/bin:$PATH" GPUPROF_LIBCUPTI="$build/tests/mock/libcupti.so.13" \
    GPUPROF_LIBNVML="$build/tests/mock/libnvidia-ml.so.1"
slurmctld -c && slurmd || { echo 'Bail out! Slurm does not start'; tail -n 5 "$work"/*.log; exit 1; }
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    sinfo -h -o %T 2>/dev/null | grep -q idle && break
    sleep 1
done
[ "$try" -lt 20 ] || { echo 'Bail out! the node is not idle'; tail -n 5 "$work"/*.log; exit 1; }
count=0 failed=0
check() { # WHAT CONDITION
    count=$((count + 1))
    if eval "$2" >"$work/said" 2>&1; then echo "ok $count - $1"; else echo "not ok $count - $1"; sed 's/^/# /' "$work/said"; failed=1; fi
}
export app="$build/tests/mock/app launch 10 1 1"
cd "$work" || exit 1
facts() { "$build/tests/mock/facts" "$1" | grep -Fx "gpu $2"; }
check 'srun has one more option' 'srun --help | grep -e "--gpuprof=FOLDER"'
check 'a step without it is left alone' 'srun -n1 $app && ! ls ./*.trace'
check 'each task has a trace of its own' 'srun -n2 -O --gpuprof=traces $app && facts traces/*.rank0.trace 10 && facts traces/*.rank1.trace 10'
check 'options of gpuprof-collect follow the folder, and the arguments of the task stay words' '
    srun -n1 --gpuprof=more,--memory,--sample=100 sh -c "printf %s\\\\n \"\$@\"; exec $app" sh "a b" "" c >out && sed -n 1p out | grep -Fx "a b" &&
    test "$(grep -c . out)" -ge 2 && facts more/*rank0.trace 10'
check 'the exit status is that of the task' 'srun -n1 --gpuprof=status sh -c "exit 7"; test $? = 7'
echo "1..$count"
exit $failed
