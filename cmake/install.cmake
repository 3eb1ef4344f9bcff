# cmake --install, and the files that find_package(dyn) reads.

include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/dyn)

install(TARGETS dyn EXPORT dynTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dyn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT dynTargets NAMESPACE dyn:: DESTINATION ${config_folder})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/dynConfig.cmake.in
  ${PROJECT_BINARY_DIR}/dynConfig.cmake INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dynConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dynConfig.cmake ${PROJECT_BINARY_DIR}/dynConfigVersion.cmake
  DESTINATION ${config_folder})
