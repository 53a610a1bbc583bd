#!/bin/sh
test_description='where the build looks for the headers of CUDA'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

# The layout of PyTorch's pip wheels: three packages, a folder of headers in each.
for header in cuda_cupti/include/cupti.h cuda_runtime/include/cuda.h nvtx/include/nvtx3/nvToolsExt.h; do
    mkdir -p "site-packages/nvidia/$(dirname $header)" && : >"site-packages/nvidia/$header"
done

cat >ask.cmake <<END
include($GP_SOURCE/collect/cuda_headers.cmake)
gp_cuda_headers(found missing)
message(STATUS "found=\${found}")
message(STATUS "missing=\${missing}")
END
# asked OPTION... -- what is found and what is missing.
asked() { cmake "$@" -P ask.cmake >out 2>&1; }
here=$PWD/site-packages/nvidia

test_expect_success 'three folders are as good as one, in any order' '
    asked "-DGPUPROF_CUDA_INCLUDE=$here/nvtx/include;$here/cuda_cupti/include;$here/cuda_runtime/include" &&
    grep "found=$here/cuda_cupti/include;$here/cuda_runtime/include;$here/nvtx/include$" out && grep "missing=$" out
'

test_expect_success 'what is missing is named, and nothing is found by halves' '
    asked "-DGPUPROF_CUDA_INCLUDE=$here/cuda_cupti/include;$here/cuda_runtime/include" &&
    grep "found=$" out && grep "missing=nvtx3/nvToolsExt.h$" out
'

test_expect_success 'the wheels of the Python that runs are found without being named' '
    mkdir bin && printf "#!/bin/sh\necho \"$PWD/site-packages\"\n" >bin/python3 && chmod +x bin/python3 &&
    PATH="$PWD/bin:$PATH" CUDA_HOME= cmake -DGPUPROF_PYTHON="$PWD/bin/python3" -P ask.cmake >out 2>&1 &&
    { grep "found=$here/cuda_cupti/include;" out || grep "found=/.*cuda" out; } && grep "missing=$" out
'

test_done
