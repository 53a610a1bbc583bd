# mock.sh -- sourced by tests of the collector after tests/tap/setup.sh: the mock application and what to ask its traces.
#
#   collect     the launcher, with short flush intervals and without what it reads of GPUs (tests/mock/mock_nvml.c)
#   app         the program of tests/mock/app.c; app_file is only its file
#   facts, has, lacks   see below
# Ends the test with a skip where the mock was not built.
mock=${GP_BIN%/bin}/tests/mock
if [ ! -x "$mock/app" ]; then
    skip_all='built without the headers of CUDA'
    test_done
fi
GPUPROF_LIBCUPTI=$mock/libcupti.so.13
GPUPROF_LIBNVML=$mock/libnvidia-ml.so.1
export GPUPROF_LIBCUPTI GPUPROF_LIBNVML
unset RANK LOCAL_RANK SLURM_PROCID OMPI_COMM_WORLD_RANK PMI_RANK GPUPROF_DEBUG CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH
collect='gpuprof-collect --no-clocks --flush-interval 50ms'
# The mock programs end in any way, which is not a leak; and a leak check after fork can wait for ever.
app_file=$mock/app
app="env ASAN_OPTIONS=detect_leaks=0 $app_file"

# facts FILE -- what is in the trace, as "what count" lines in the file `facts`.
facts() { "$mock/facts" "$1" >facts; }
# has WHAT COUNT -- the trace holds so many.
has() { grep -Fx "$1 $2" facts >/dev/null || { echo "expected: $1 $2"; cat facts; return 1; }; }
# lacks WHAT -- nothing of the kind.
lacks() { ! grep -F "$1" facts; }
