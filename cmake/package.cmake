# What the components of the installed package share: find_package(warpfold COMPONENTS client kernels), or without any all that
# are installed. All that programs include lies under one folder, by the paths that it has in this tree.
include(CMakePackageConfigHelpers)
set(WARPFOLD_INCLUDE ${CMAKE_INSTALL_INCLUDEDIR}/warpfold)
set(WARPFOLD_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/warpfold)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/warpfoldConfigVersion.cmake COMPATIBILITY SameMinorVersion)

# The targets of export set warpfold-COMPONENT, and how find_package finds them.
function(warpfold_install_package component)
  install(EXPORT warpfold-${component} NAMESPACE warpfold:: DESTINATION ${WARPFOLD_CMAKE} COMPONENT ${component})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/warpfoldConfig.cmake ${PROJECT_BINARY_DIR}/warpfoldConfigVersion.cmake
    DESTINATION ${WARPFOLD_CMAKE} COMPONENT ${component})
endfunction()
