# The Python package dyn: its extension module _dyn, which carries the whole library, and its files, put together in the build folder as
# they are installed. pyproject.toml builds the wheel with this.

# A release tree that knows only some folder of nanobind's is told by nanobind_DIR; in an environment of pip's the interpreter knows.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
if(NOT nanobind_DIR AND NOT nanobind_ROOT)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_package(nanobind 3.1 CONFIG QUIET)
if(NOT nanobind_FOUND)
  message(FATAL_ERROR "DYN_PYTHON needs nanobind 3.1: ${Python_EXECUTABLE} -m pip install nanobind\n"
    "or set nanobind_DIR to its folder `cmake`.")
endif()

dyn_glob(python_sources SOURCES src/python/bindings/*.cpp)
# STABLE_ABI has an effect from Python 3.12 on.
nanobind_add_module(_dyn STABLE_ABI NB_STATIC NOMINSIZE NOSTRIP NB_SUPPRESS_WARNINGS ${python_sources})
dyn_compile_settings(_dyn)
target_link_libraries(_dyn PRIVATE dyn_internal)
target_compile_options(_dyn PRIVATE $<$<CONFIG:Release>:-O2>)

# Python sees the module's start alone: neither dyn's symbols nor LLVM's meet those of another library in the process.
set(python_package ${PROJECT_BINARY_DIR}/python/dyn)
set(python_version_script ${PROJECT_SOURCE_DIR}/src/python/bindings/module.map)
target_link_options(_dyn PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${python_version_script} -Wl,--gc-sections
  $<$<CONFIG:Release>:-Wl,-s>)
set_target_properties(_dyn PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${python_package} LINK_DEPENDS ${python_version_script})

# Types for who checks them, from the module itself.
nanobind_add_stub(_dyn_stub MODULE _dyn OUTPUT ${python_package}/_dyn.pyi PYTHON_PATH ${python_package} DEPENDS _dyn INCLUDE_PRIVATE)

dyn_glob(python_files SOURCES src/python/dyn/*.py src/python/dyn/py.typed)
file(MAKE_DIRECTORY ${python_package})
foreach(file IN LISTS python_files)
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/src/python/dyn ${file})
  file(CREATE_LINK ${file} ${python_package}/${name} SYMBOLIC)
endforeach()

install(TARGETS _dyn LIBRARY DESTINATION dyn COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${python_package}/_dyn.pyi DESTINATION dyn COMPONENT python EXCLUDE_FROM_ALL)
