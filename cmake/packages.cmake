# What `cpack` makes of a build: Debian packages of the library, of what programs need to be built with it, and of the tools; and a tarball
# of all. docs/packages.md says how.

set(CPACK_PACKAGE_NAME dyn)
set(CPACK_PACKAGE_VENDOR dyn)
set(DYN_PACKAGE_CONTACT "The dyn developers <dyn@localhost>" CACHE STRING "Whom the packages name as their maintainer")
set(CPACK_PACKAGE_CONTACT ${DYN_PACKAGE_CONTACT})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_THREADS 0)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL runtime development)
if(DYN_TOOLS)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()

# Lines of at most 80 columns.
set(about "dyn runs neural networks whose shapes change from call to call. LLVM generates
kernels when a model is loaded, and a new shape only chooses among them.")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "${about}\n\nThis package has the shared library.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${about}

This package has what programs need to be built with the library: headers, and
files for CMake and pkg-config.")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "${about}

This package has dynrun, which runs, times and explains models on the command
line.")

# The C++ API may change with each minor version until 1.0, so each has a package of its own. The development package is of one of them.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libdyn${abi_version})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
# What packages of programs that are linked with libdyn depend on, and that ldconfig is to run; CPack would write scripts for that.
set(control ${PROJECT_BINARY_DIR}/generated/debian)
file(WRITE ${control}/shlibs "libdyn ${abi_version} libdyn${abi_version} (>= ${PROJECT_VERSION})\n")
file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${control}/shlibs ${control}/triggers)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libdyn-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libdyn${abi_version} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME dyn-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)

# Each Debian package has its licences and its changelog. A plain `cmake --install` leaves them out.
set(changelog ${control}/changelog.gz)
configure_file(${PROJECT_SOURCE_DIR}/packaging/debian/changelog.in ${control}/changelog @ONLY)
execute_process(COMMAND gzip -9nc ${control}/changelog OUTPUT_FILE ${changelog} COMMAND_ERROR_IS_FATAL ANY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(documents ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/debian/copyright ${changelog} DESTINATION ${documents} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
