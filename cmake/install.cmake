# cmake --install, and the files that find_package(dyn) and pkg-config read.

include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/dyn)

install(TARGETS dyn EXPORT dynTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dyn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT dynTargets NAMESPACE dyn:: DESTINATION ${config_folder} COMPONENT development)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/dynConfig.cmake.in
  ${PROJECT_BINARY_DIR}/dynConfig.cmake INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dynConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dynConfig.cmake ${PROJECT_BINARY_DIR}/dynConfigVersion.cmake
  DESTINATION ${config_folder} COMPONENT development)

# The prefix is found from where the file lies: an installed tree may be moved.
set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pkgconfig /${pkgconfig_folder} /)
set(pkgconfig_private)
if(NOT BUILD_SHARED_LIBS)
  get_target_property(llvm_library LLVM IMPORTED_LOCATION_RELWITHDEBINFO)
  if(NOT llvm_library)
    get_target_property(llvm_library LLVM LOCATION)
  endif()
  set(pkgconfig_private "Requires.private: fmt, tbb\nLibs.private: ${llvm_library} -pthread -lstdc++ -lm")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/dyn.pc.in ${PROJECT_BINARY_DIR}/dyn.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/dyn.pc DESTINATION ${pkgconfig_folder} COMPONENT development)
