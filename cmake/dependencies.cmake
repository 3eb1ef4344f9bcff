# Finds everything that dyn needs at once: one message names all that is missing, with the command that installs it.

set(missing_packages)

macro(dyn_find package debian_package)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND missing_packages ${debian_package})
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
dyn_find(Threads libc6-dev)
dyn_find(fmt libfmt-dev 9)
dyn_find(TBB libtbb-dev)
dyn_find(nlohmann_json nlohmann-json3-dev 3.11)
find_path(dyn_protozero_headers protozero/version.hpp)
if(NOT dyn_protozero_headers)
  list(APPEND missing_packages libprotozero-dev)
endif()
dyn_find(ZLIB zlib1g-dev)
dyn_find(LibXml2 libxml2-dev)
if(DYN_TOOLS OR DYN_TESTS)
  dyn_find(CLI11 libcli11-dev 2.1)
  dyn_find(Eigen3 libeigen3-dev 3.4 NO_MODULE)
  # Debian's configuration of XGBoost asks for a program that its package does not have.
  find_path(dyn_xgboost_headers xgboost/c_api.h)
  find_library(dyn_xgboost_library xgboost)
  if(dyn_xgboost_headers AND dyn_xgboost_library)
    add_library(dyn_xgboost UNKNOWN IMPORTED)
    set_target_properties(dyn_xgboost PROPERTIES IMPORTED_LOCATION ${dyn_xgboost_library} INTERFACE_INCLUDE_DIRECTORIES ${dyn_xgboost_headers})
  else()
    list(APPEND missing_packages libxgboost-dev)
  endif()
endif()
if(DYN_TESTS)
  dyn_find(doctest doctest-dev 2.4)
endif()
find_library(dyn_zstd_library zstd)
if(NOT dyn_zstd_library)
  list(APPEND missing_packages libzstd-dev)
endif()
# LLVM's own configuration fails instead of being "not found" where its dependencies are missing.
if(NOT missing_packages)
  dyn_find(LLVM llvm-19-dev 19.1 CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
elseif(NOT EXISTS /usr/lib/llvm-19/lib/cmake/llvm)
  list(APPEND missing_packages llvm-19-dev)
endif()

if(missing_packages)
  list(JOIN missing_packages " " missing_words)
  message(FATAL_ERROR
    "dyn needs packages that were not found. On Debian 12:\n"
    "  apt-get install ${missing_words}\n"
    "or: bash scripts/install_packages.sh\n"
    "Elsewhere, set CMAKE_PREFIX_PATH to where they are (LLVM must be 19.1).")
endif()

# A shared libdyn carries LLVM, so it takes only the parts that dyn needs: ORC, the x86 and NVPTX back ends, and the linker and parser of
# device IR.
if(BUILD_SHARED_LIBS)
  llvm_map_components_to_libnames(llvm_libraries orcjit x86codegen x86asmparser x86desc x86info nvptxcodegen nvptxdesc nvptxinfo
    asmparser linker)
else()
  set(llvm_libraries LLVM)
endif()

# The GNU linker is slow on LLVM's archives; these are not.
find_program(dyn_fast_linker NAMES mold ld.lld HINTS /usr/lib/llvm-19/bin)
if(dyn_fast_linker)
  get_filename_component(fast_linker_name ${dyn_fast_linker} NAME)
  get_filename_component(fast_linker_folder ${dyn_fast_linker} DIRECTORY)
  string(REPLACE "ld.lld" "lld" fast_linker_name ${fast_linker_name})
  add_link_options(-fuse-ld=${fast_linker_name} -B${fast_linker_folder})
endif()

# With ccache, a compiled unit stays compiled, whatever folder the next build is in.
find_program(dyn_compiler_cache ccache)
if(dyn_compiler_cache AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${dyn_compiler_cache})
endif()
