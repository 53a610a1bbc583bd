#!/bin/sh
test_description='trace-hta-mpi: the same bytes from any number of processes; what dies goes on'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

command -v mpirun >/dev/null 2>&1 || skip_all='mpirun is missing (package openmpi-bin)'
[ -x "$GP_BIN/trace-hta-mpi" ] || skip_all='built without MPI'
[ -z "$GP_SANITIZED" ] || skip_all='MPI itself leaks'
[ -z "${skip_all:-}" ] || test_done

make_fleet=${GP_BIN%/bin}/tests/make_fleet
mkdir job && "$make_fleet" job 80 4 7 compute:50:5 kernel:70:20:4 || exit 1
# Processes on one machine that may have fewer cores, run by root or not; nothing leaves the machine.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_plm=isolated
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_btl OMPI_MCA_rmaps_base_oversubscribe \
    OMPI_MCA_hwloc_base_binding_policy OMPI_MCA_mpi_yield_when_idle OMPI_MCA_plm
processes() { n=$1 && shift && mpirun -n "$n" "$@"; }

test_expect_success '1, 2, 4 and 8 processes give the bytes of one' '
    trace-hta --merge --from job/list -f json -o expect.json &&
    sed "s/\"tool\": *\"trace-hta\"/\"tool\": \"trace-hta-mpi\"/" expect.json >expect &&
    for n in 1 2 4 8; do
        processes $n trace-hta-mpi --merge --from job/list -f json -o got$n.json && cmp expect got$n.json || return 1
    done &&
    trace-hta --merge --from job/list --save-partial expect.part &&
    processes 4 trace-hta-mpi --merge --from job/list --save-partial got.part && cmp expect.part got.part
'

test_expect_success 'traces, too, and broken files are left out and named' '
    cp "$samples"/pairs/ddp_bucket25.rank0.json.gz . && echo nonsense >bad.json &&
    trace-hta --keep-going -q ddp_bucket25.rank0.json.gz bad.json none.json >expect 2>err &&
    processes 3 trace-hta-mpi -q ddp_bucket25.rank0.json.gz bad.json none.json >out 2>err && test_cmp expect out &&
    grep "^trace-hta-mpi: skipped: bad.json: " err && grep "^trace-hta-mpi: skipped: none.json: cannot open" err
'

test_expect_success '1% of broken files: the report says so; --max-skipped and --strict end with status 2' '
    cp job/list some && echo job/none >>some &&
    processes 4 trace-hta-mpi --merge --from some -f json -o got.json 2>err &&
    test "$(jq .fleet.skipped_inputs got.json)" -eq 1 && test "$(jq .fleet.members got.json)" -eq 80 &&
    status_of processes 4 trace-hta-mpi --merge --from some --max-skipped 1% && test "$status" -eq 2 &&
    grep "1 of 81 inputs were skipped, more than --max-skipped 1%" err &&
    status_of processes 4 trace-hta-mpi --strict --merge --from some && test "$status" -eq 2 &&
    grep "^trace-hta-mpi: job/none: cannot open" err && test_must_be_empty out
'

test_expect_success 'a worker is killed: the next run goes on from what was spilled' '
    { sed "s/^/|cat /" job/list && echo "|test -e again || kill -9 \$PPID; cat job/none"; } >killing &&
    status_of processes 2 trace-hta-mpi --merge --from killing --spill spill && test "$status" -ne 0 &&
    test_must_be_empty out && n=$(find spill -name "*.spill" | wc -l) && test "$n" -ge 1 && : >again &&
    processes 2 trace-hta-mpi -v --merge --from killing --spill spill -f json -o got.json 2>err &&
    grep "spill: resumed from what was read before" err && test "$(jq .fleet.members got.json)" -eq 80 &&
    jq "del(.inputs, .fleet.skipped, .fleet.skipped_inputs, .tool)" got.json >left &&
    jq "del(.inputs, .fleet.skipped, .fleet.skipped_inputs, .tool)" expect.json >right && test_cmp right left
'

test_expect_success 'misuse is printed once' '
    status_of processes 3 trace-hta-mpi --nonsense && test "$status" -eq 2 &&
    test "$(grep -c "^trace-hta-mpi: " err)" -eq 1 &&
    status_of processes 2 trace-hta-mpi && test "$status" -eq 2 && grep "no input: name files" err
'

test_expect_success 'the scripts of samples/fleet give the same report and resume' '
    PATH=$GP_BIN:$PATH && cat job/list >partials && mkdir fake &&
    printf "#!/bin/sh\nexec \"$GP_BIN/trace-hta\" --merge \"\$@\"\n" >fake/trace-hta && chmod +x fake/trace-hta &&
    PATH=$PWD/fake:$PATH sh "$samples/fleet/tree.sh" job/list tree.json 2 && cmp expect.json tree.json &&
    find tree.json.parts -name "*.part" | sort >made && touch -r job/list stamp && rm tree.json.parts/0.00001.part &&
    PATH=$PWD/fake:$PATH sh "$samples/fleet/tree.sh" job/list tree.json 2 && cmp expect.json tree.json &&
    for i in 0 1 2; do
        PATH=$PWD/fake:$PATH SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=3 sh "$samples/fleet/array.sbatch" job/list \
            array.json || return 1
    done && cmp expect.json array.json &&
    printf "#!/bin/sh\nshift\nexec mpirun -n 3 trace-hta-mpi --merge \"\$@\"\n" >fake/srun && chmod +x fake/srun &&
    PATH=$PWD/fake:$PATH sh "$samples/fleet/mpi.sbatch" job/list mpi.json &&
    sed "s/\"tool\": *\"trace-hta-mpi\"/\"tool\": \"trace-hta\"/" mpi.json | cmp expect.json - && test -d mpi.json.spill
'

test_done
