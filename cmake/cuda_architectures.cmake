# Which GPUs the kernels are compiled for.
#
# WARPFOLD_CUDA_ARCHITECTURES is a list of CMake's architectures (90: machine code and PTX; 90-real: machine code alone;
# 90-virtual: PTX alone) or one of two names:
#   native  the GPUs of this machine; where none answers, 9.0
#   dist    the GPUs that people have: machine code for 7.5 (T4), 8.0, 9.0, 10.0 and 12.0, each of which later minors run too
#           (8.6, 8.9, 10.3, 12.1), and PTX of 12.0 for what comes after. 11.0 has code of neither.
set(WARPFOLD_CUDA_ARCHITECTURES native CACHE STRING
  "GPUs to compile for: native, dist, or a list such as 80-real;90 of 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121")
set(WARPFOLD_CUDA_KNOWN_ARCHITECTURES 75 80 86 87 89 90 100 103 110 120 121)

# The compute capabilities of this machine's GPUs, such as 90;120; empty where none answers.
function(warpfold_native_architectures result)
  set(found)
  find_program(WARPFOLD_NVIDIA_SMI nvidia-smi)
  mark_as_advanced(WARPFOLD_NVIDIA_SMI)
  if(WARPFOLD_NVIDIA_SMI)
    execute_process(COMMAND ${WARPFOLD_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
      OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE status TIMEOUT 30)
    if(status EQUAL 0)
      string(REGEX MATCHALL "[0-9]+\\.[0-9]" found "${capabilities}")
      list(TRANSFORM found REPLACE "\\." "")
      list(REMOVE_DUPLICATES found)
    endif()
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# Fails with one line that names the entry, where `architectures` has one that cannot be compiled.
function(warpfold_check_architectures architectures)
  if(NOT architectures)
    message(FATAL_ERROR "WARPFOLD_CUDA_ARCHITECTURES is empty: give native, dist, or a list such as 80-real;90")
  endif()
  foreach(architecture IN LISTS architectures)
    if(NOT architecture MATCHES "^([0-9]+)(-real|-virtual)?$")
      message(FATAL_ERROR "WARPFOLD_CUDA_ARCHITECTURES: '${architecture}' is no architecture; known are native, dist, and "
        "${WARPFOLD_CUDA_KNOWN_ARCHITECTURES}, each alone or with -real or -virtual")
    endif()
    if(CMAKE_MATCH_1 LESS 75)
      message(FATAL_ERROR "WARPFOLD_CUDA_ARCHITECTURES: '${architecture}' is below 75: CUDA 13 compiles for compute "
        "capability 7.5 (T4) and later")
    endif()
    if(NOT CMAKE_MATCH_1 IN_LIST WARPFOLD_CUDA_KNOWN_ARCHITECTURES)
      message(FATAL_ERROR "WARPFOLD_CUDA_ARCHITECTURES: '${architecture}' is unknown; known are "
        "${WARPFOLD_CUDA_KNOWN_ARCHITECTURES}")
    endif()
  endforeach()
endfunction()

# Sets `result` to what CMAKE_CUDA_ARCHITECTURES has to be.
function(warpfold_cuda_architectures result)
  set(architectures "${WARPFOLD_CUDA_ARCHITECTURES}")
  if(architectures STREQUAL "native")
    warpfold_native_architectures(architectures)
    if(NOT architectures)
      set(architectures 90)
    endif()
  elseif(architectures STREQUAL "dist")
    set(architectures 75-real 80-real 90-real 100-real 120)
  endif()
  warpfold_check_architectures("${architectures}")
  set(${result} "${architectures}" PARENT_SCOPE)
endfunction()

# Sets `code` and `ptx` to the lists of compute capabilities that `architectures` has machine code for, and PTX of.
function(warpfold_split_architectures architectures code ptx)
  set(code_list)
  set(ptx_list)
  foreach(architecture IN LISTS architectures)
    string(REGEX MATCH "^[0-9]+" number "${architecture}")
    if(NOT architecture MATCHES "-virtual$")
      list(APPEND code_list ${number})
    endif()
    if(NOT architecture MATCHES "-real$")
      list(APPEND ptx_list ${number})
    endif()
  endforeach()
  foreach(list code_list ptx_list)
    list(REMOVE_DUPLICATES ${list})
    list(SORT ${list} COMPARE NATURAL)
  endforeach()
  set(${code} "${code_list}" PARENT_SCOPE)
  set(${ptx} "${ptx_list}" PARENT_SCOPE)
endfunction()

# Compiles the kernels of `target` for 10.0 from the PTX of 9.0 where machine code of both is asked for: nothing in them is
# chosen by that difference (__CUDA_ARCH__), and PTX is half of the compiler's time.
function(warpfold_share_ptx target)
  set(architectures "${CMAKE_CUDA_ARCHITECTURES}")
  if(90 IN_LIST WARPFOLD_CUDA_CODE AND 100-real IN_LIST architectures)
    list(REMOVE_ITEM architectures 100-real)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${architectures}")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--generate-code=arch=compute_90,code=[sm_100]>)
  endif()
endfunction()
