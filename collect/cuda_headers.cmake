# GPUPROF_CUDA_INCLUDE: the folders of cupti.h, cuda.h and nvtx3/, which are one in the CUDA toolkit and three in PyTorch's
# pip wheels (nvidia/cuda_cupti, cuda_runtime, nvtx). Where it is set, as a list, only these folders are looked at.
set(GPUPROF_CUDA_INCLUDE "" CACHE STRING "folders of cupti.h, cuda.h and nvtx3/, separated by semicolons")

# Where Python's packages are: those of the virtual environment, the system and the user.
function(gp_wheel_folders out)
    set(folders "")
    find_program(GPUPROF_PYTHON NAMES python3 python)
    if(GPUPROF_PYTHON)
        execute_process(COMMAND ${GPUPROF_PYTHON} -c "import sys; print(';'.join(p for p in sys.path if p.endswith('-packages')))"
            OUTPUT_VARIABLE paths OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
        foreach(path IN LISTS paths)
            file(GLOB found ${path}/nvidia/*/include)
            list(APPEND folders ${found})
        endforeach()
    endif()
    set(${out} "${folders}" PARENT_SCOPE)
endfunction()

# Sets OUT to the folders in which the three headers are; empty if one is missing, whose name is then in MISSING.
function(gp_cuda_headers out missing)
    set(folders "")
    set(absent "")
    set(where NO_DEFAULT_PATH PATHS ${GPUPROF_CUDA_INCLUDE})
    if(NOT GPUPROF_CUDA_INCLUDE)
        gp_wheel_folders(wheels)
        set(where HINTS ENV CUDA_HOME ENV CUDA_PATH
            PATHS /usr/local/cuda /opt/cuda /usr/lib/cuda /usr ${wheels}
            PATH_SUFFIXES include extras/CUPTI/include targets/x86_64-linux/include targets/sbsa-linux/include)
    endif()
    foreach(header cupti.h cuda.h nvtx3/nvToolsExt.h)
        unset(folder CACHE)
        unset(folder)
        find_path(folder ${header} ${where})
        if(folder)
            list(APPEND folders ${folder})
        else()
            list(APPEND absent ${header})
        endif()
        unset(folder CACHE)
    endforeach()
    list(REMOVE_DUPLICATES folders)
    if(absent)
        set(folders "")
    endif()
    set(${out} "${folders}" PARENT_SCOPE)
    set(${missing} "${absent}" PARENT_SCOPE)
endfunction()
