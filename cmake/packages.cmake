# Every library comes from the distribution (deploy/packages.txt); the build downloads nothing.
find_package(absl CONFIG REQUIRED)
if(absl_VERSION VERSION_GREATER_EQUAL 20250814)
  # Newer ones warn of the names of locks that Debian 12's has, which does not have the new names. And their statuses hold
  # where they were made: no binary names the folder in which it was built.
  set_property(TARGET absl::synchronization APPEND PROPERTY INTERFACE_COMPILE_OPTIONS
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>
    $<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=>)
endif()
find_package(hwy CONFIG REQUIRED)
if(WARPFOLD_KERNELS_ONLY)
  return()
endif()
find_package(Threads REQUIRED)
# By its own package where it has one, which names the Abseil that it needs; Debian 12's has none.
set(CMAKE_FIND_PACKAGE_PREFER_CONFIG ON)
find_package(Protobuf REQUIRED)
set(CMAKE_FIND_PACKAGE_PREFER_CONFIG OFF)
find_package(gRPC CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(TBB CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
# Not CMake's own package: Debian's insists on libzip's programs being installed too.
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
find_library(TCMALLOC_MINIMAL_LIBRARY tcmalloc_minimal REQUIRED)
