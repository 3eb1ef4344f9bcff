# libdyn, as embedders see it, and dyn_internal: the same objects with their internals, for dynrun and tests.

add_library(dyn ${dyn_objects})
add_library(dyn::dyn ALIAS dyn)
target_include_directories(dyn PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(dyn PUBLIC cxx_std_20)
# Until 1.0 each minor version may change the C++ API, and so has a SONAME of its own.
set(abi_version ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(abi_version 0.${PROJECT_VERSION_MINOR})
endif()
set_target_properties(dyn PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${abi_version} LINKER_LANGUAGE CXX)
target_link_libraries(dyn PRIVATE fmt::fmt TBB::tbb Threads::Threads ${llvm_libraries})

# Only the public API is visible: a host with an LLVM of its own must not meet this one.
if(BUILD_SHARED_LIBS)
  set(version_script ${PROJECT_BINARY_DIR}/generated/libdyn.map)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/libdyn.map.in ${version_script} @ONLY)
  target_link_options(dyn PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${version_script} -Wl,--gc-sections)
  set_target_properties(dyn PROPERTIES LINK_DEPENDS ${version_script})
endif()

add_library(dyn_internal STATIC EXCLUDE_FROM_ALL ${dyn_objects})
set_target_properties(dyn_internal PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(dyn_internal PUBLIC fmt::fmt TBB::tbb Threads::Threads ${llvm_libraries})
