# The client library as a package: `cmake --install BUILD --component client` puts it where
# find_package(warpfold) finds it and offers the target warpfold::client. Everything that programs include lies under one
# folder, include/warpfold, by the paths that it has in this tree; <warpfold/client.h> is the way in.
include(CMakePackageConfigHelpers)
set(warpfold_include ${CMAKE_INSTALL_INCLUDEDIR}/warpfold)
set(warpfold_cmake ${CMAKE_INSTALL_LIBDIR}/cmake/warpfold)

# What client.h and many_stream.h include.
set(warpfold_headers client.h connection.h connection_pool.h many_stream.h remote_tensor.h retry.h shared_tensor.h
  silence.h tensor.h)
install(FILES ${warpfold_headers} DESTINATION ${warpfold_include}/client/cpp COMPONENT client)
install(FILES package/client.h DESTINATION ${warpfold_include}/warpfold COMPONENT client)
install(DIRECTORY ${CMAKE_BINARY_DIR}/proto/warpfold ${CMAKE_BINARY_DIR}/proto/google
  DESTINATION ${warpfold_include} COMPONENT client FILES_MATCHING PATTERN "*.pb.h")
# For other languages' generators, and for a program's own messages.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/proto/warpfold ${CMAKE_SOURCE_DIR}/proto/google
  DESTINATION ${CMAKE_INSTALL_DATADIR}/warpfold/proto COMPONENT client FILES_MATCHING PATTERN "*.proto")

set_target_properties(warpfold_client PROPERTIES EXPORT_NAME client)
set_target_properties(warpfold_proto PROPERTIES EXPORT_NAME proto)
target_compile_features(warpfold_client PUBLIC cxx_std_20)
target_include_directories(warpfold_client SYSTEM INTERFACE $<INSTALL_INTERFACE:${warpfold_include}>)
install(TARGETS warpfold_client warpfold_proto EXPORT warpfold ARCHIVE COMPONENT client)
install(EXPORT warpfold NAMESPACE warpfold:: DESTINATION ${warpfold_cmake} COMPONENT client)
write_basic_package_version_file(warpfoldConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES package/warpfoldConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/warpfoldConfigVersion.cmake
  DESTINATION ${warpfold_cmake} COMPONENT client)
