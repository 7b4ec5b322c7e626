# find_package(warpfold): the target warpfold::client (docs/clients.md). Its libraries are the distribution's.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(Protobuf)
find_dependency(gRPC CONFIG)
find_dependency(absl CONFIG)
include(${CMAKE_CURRENT_LIST_DIR}/warpfold.cmake)
