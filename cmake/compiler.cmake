# Warnings, sanitizers, and the floating point rules that keep the bits the same everywhere.
# Warnings are errors, nvcc's too, only where CMAKE_COMPILE_WARNING_AS_ERROR says so: in the presets for developers and in
# continuous integration. Who builds with another compiler or a newer library sees them and gets binaries.
add_compile_options(
  $<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra>
  $<$<COMPILE_LANGUAGE:CXX>:-Wswitch>
  # Designated initialisers leave the rest to its defaults on purpose.
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>
  # False alarms of GCC 12 on string concatenation (GCC bug 105651).
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
# And of GCC 14 on words of exact sums that their lengths keep apart. GCC 12 still looks.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds> $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
endif()

# No contraction into fused multiply-add: it changes bits with the processor.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
# Nobody traps on inexact or invalid operations, so GCC may convert and compare ahead of a choice, and makes SIMD of loops
# that it left to branches. No bit of any result depends on it; Clang does so anyway.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-trapping-math>)
add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>)
# The kernels at a fifth of their size. Drivers for CUDA 13 can all unpack it.
if(WARPFOLD_HAS_CUDA AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>)
endif()
set(WARPFOLD_SANITIZE "" CACHE STRING "address, undefined or thread; a list such as address,undefined")
if(WARPFOLD_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WARPFOLD_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>)
  # Of AddressSanitizer's code GCC 12 says so about std::function.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${WARPFOLD_SANITIZE})
endif()
option(WARPFOLD_FUZZ "Have libFuzzer's targets, which need Clang (tests/fuzz)" OFF)
if(WARPFOLD_FUZZ)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()

include_directories(${CMAKE_SOURCE_DIR})
