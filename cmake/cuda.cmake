# Decides whether the build holds the CUDA backend, and says so once.
set(WARPFOLD_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO (when nvcc is found), ON or OFF")
set_property(CACHE WARPFOLD_CUDA PROPERTY STRINGS AUTO ON OFF)

set(WARPFOLD_HAS_CUDA OFF)
if(NOT WARPFOLD_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # Hopper machine code, and PTX that later GPUs compile from. Add older ones, from 80 on (a block
    # takes up to 72 KiB of shared memory), with -DCMAKE_CUDA_ARCHITECTURES.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
    enable_language(CUDA)
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has C++20
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    find_package(CUDAToolkit REQUIRED)
    set(WARPFOLD_HAS_CUDA ON)
  elseif(WARPFOLD_CUDA STREQUAL "ON")
    message(FATAL_ERROR "WARPFOLD_CUDA=ON, but no nvcc was found")
  endif()
endif()

if(WARPFOLD_HAS_CUDA)
  message(STATUS "warpfold: CUDA ${CMAKE_CUDA_COMPILER_VERSION}, architectures "
                 "${CMAKE_CUDA_ARCHITECTURES}; the binaries hold the CUDA and the CPU backend")
  set(WARPFOLD_BACKENDS "CUDA and CPU" CACHE INTERNAL "What `make build` says in the end")
else()
  message(STATUS "warpfold: no CUDA; the binaries hold the CPU backend only")
  set(WARPFOLD_BACKENDS "CPU only (no nvcc, or WARPFOLD_CUDA=OFF)" CACHE INTERNAL "What `make build` says in the end")
endif()
