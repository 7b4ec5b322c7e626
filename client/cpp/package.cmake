# The client library as a package: `cmake --install BUILD --component client` puts it where
# find_package(warpfold COMPONENTS client) finds it and offers the target warpfold::client (cmake/package.cmake);
# <warpfold/client.h> is the way in.
# What client.h and many_stream.h include.
set(warpfold_headers client.h connection.h connection_pool.h many_stream.h remote_tensor.h retry.h shared_tensor.h
  queue_pool.h silence.h tensor.h token.h)
install(FILES ${warpfold_headers} DESTINATION ${WARPFOLD_INCLUDE}/client/cpp COMPONENT client)
install(FILES package/client.h DESTINATION ${WARPFOLD_INCLUDE}/warpfold COMPONENT client)
install(DIRECTORY ${CMAKE_BINARY_DIR}/proto/warpfold ${CMAKE_BINARY_DIR}/proto/google
  DESTINATION ${WARPFOLD_INCLUDE} COMPONENT client FILES_MATCHING PATTERN "*.pb.h")
# For other languages' generators, and for a program's own messages.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/proto/warpfold ${CMAKE_SOURCE_DIR}/proto/google
  DESTINATION ${CMAKE_INSTALL_DATADIR}/warpfold/proto COMPONENT client FILES_MATCHING PATTERN "*.proto")

set_target_properties(warpfold_client PROPERTIES EXPORT_NAME client)
set_target_properties(warpfold_proto PROPERTIES EXPORT_NAME proto)
target_compile_features(warpfold_client PUBLIC cxx_std_20)
target_include_directories(warpfold_client SYSTEM INTERFACE $<INSTALL_INTERFACE:${WARPFOLD_INCLUDE}>)
install(TARGETS warpfold_client warpfold_proto EXPORT warpfold-client ARCHIVE COMPONENT client)
warpfold_install_package(client)
