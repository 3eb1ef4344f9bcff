# Headers of other projects that many units include, compiled once for each set of parts. A unit still names all that it uses: the
# presets debug and tsan build without any of this.

set(standard_headers <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map> <memory>
  <mutex> <numeric> <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
set(llvm_headers <llvm/IR/IRBuilder.h> <llvm/IR/Module.h> <llvm/IR/Verifier.h> <llvm/Support/raw_ostream.h>)

function(dyn_precompile name)  # headers...
  set(empty ${PROJECT_BINARY_DIR}/generated/precompile_${name}.cpp)
  file(CONFIGURE OUTPUT ${empty} CONTENT "// Its target's precompiled headers are what it is for.\n")
  add_library(dyn_precompiled_${name} OBJECT EXCLUDE_FROM_ALL ${empty})
  target_link_libraries(dyn_precompiled_${name} PRIVATE fmt::fmt Threads::Threads)
  target_include_directories(dyn_precompiled_${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  target_compile_options(dyn_precompiled_${name} PRIVATE ${warnings})
  target_precompile_headers(dyn_precompiled_${name} PRIVATE ${ARGN})
endfunction()

dyn_precompile(plain ${standard_headers})
dyn_precompile(llvm ${standard_headers} ${llvm_headers})
if(DYN_TESTS)
  dyn_precompile(tests ${standard_headers} <cstdio> <fstream> <random> <doctest/doctest.h>)
  target_compile_options(dyn_precompiled_tests PRIVATE ${light_options})
endif()
