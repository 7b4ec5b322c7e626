# The kernels as a package: `cmake --install BUILD --component kernels` puts them where find_package(warpfold COMPONENTS
# kernels) finds them and offers the target warpfold::kernels (docs/kernels.md): on the CPU <warpfold/cpu.h>, and of a build
# with CUDA <warpfold/cuda.h>, too. Of libraries it needs Abseil, and the CUDA runtime.
set(libraries warpfold_plan warpfold_kernels_cpu)
set(ways_in cpu/package/cpu.h)
if(WARPFOLD_HAS_CUDA)
  list(APPEND libraries warpfold_launch_plan warpfold_kernels_cuda)
  list(APPEND ways_in cuda/package/cuda.h)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/warpfold-kernels-dependencies.cmake "find_dependency(CUDAToolkit)\n")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/warpfold-kernels-dependencies.cmake DESTINATION ${WARPFOLD_CMAKE} COMPONENT kernels)
endif()
add_library(warpfold_kernels INTERFACE)
target_link_libraries(warpfold_kernels INTERFACE ${libraries})
target_compile_features(warpfold_kernels INTERFACE cxx_std_20)
# CMake below 3.26 does not know how nvcc is told of C++20.
target_compile_options(warpfold_kernels INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
target_include_directories(warpfold_kernels SYSTEM INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
if(WARPFOLD_DTYPES)
  target_compile_definitions(warpfold_kernels INTERFACE WARPFOLD_DTYPES="${built_dtypes}")
endif()
foreach(library warpfold_kernels ${libraries})
  string(REGEX REPLACE "^warpfold_(kernels_)?" "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
endforeach()

# The contracts alone: what kernels are made of stays inside.
install(DIRECTORY . DESTINATION ${WARPFOLD_INCLUDE}/kernels COMPONENT kernels FILES_MATCHING PATTERN "*.h"
  PATTERN cpu EXCLUDE PATTERN cuda EXCLUDE)
install(FILES cpu/reduce.h cpu/reduction.h DESTINATION ${WARPFOLD_INCLUDE}/kernels/cpu COMPONENT kernels)
install(FILES cuda/batch.h cuda/device.h cuda/exact_sum.h cuda/launch_plan.h cuda/output_sums.h cuda/reduce.h cuda/reduction.h
  DESTINATION ${WARPFOLD_INCLUDE}/kernels/cuda COMPONENT kernels)
install(FILES ${ways_in} DESTINATION ${WARPFOLD_INCLUDE} COMPONENT kernels)
# A program may have a folder kernels/ of its own, so that installed headers name each other by <warpfold/kernels/...>.
install(CODE "
  set(include \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${WARPFOLD_INCLUDE}\")
  file(GLOB_RECURSE headers \"\${include}/kernels/*.h\")
  foreach(header IN LISTS headers ITEMS \"\${include}/cpu.h\" \"\${include}/cuda.h\")
    if(EXISTS \"\${header}\")
      file(READ \"\${header}\" text)
      string(REPLACE \"#include \\\"kernels/\" \"#include \\\"warpfold/kernels/\" text \"\${text}\")
      file(WRITE \"\${header}\" \"\${text}\")
    endif()
  endforeach()" COMPONENT kernels)
install(TARGETS warpfold_kernels ${libraries} EXPORT warpfold-kernels LIBRARY COMPONENT kernels ARCHIVE COMPONENT kernels)
warpfold_install_package(kernels)
