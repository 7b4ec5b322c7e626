# cmake -DWARPFOLD_CUDA_ARCHITECTURES=LIST -P print_architectures.cmake: what a build with LIST compiles for.
cmake_minimum_required(VERSION 3.24)
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/cuda_architectures.cmake)
warpfold_cuda_architectures(architectures)
warpfold_split_architectures("${architectures}" code ptx)
message("architectures=${architectures} code=${code} ptx=${ptx}")
