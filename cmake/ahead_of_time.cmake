# Code that depends on the ISA alone, and that of common layers, is compiled when dyn is built: dyn-aot, made of the code generator, writes it.

set(isas avx512 avx2 sse2)
set(folder ${PROJECT_BINARY_DIR}/generated)

# What dyn-aot itself has, and mutants: what these generate must not be there already.
file(CONFIGURE OUTPUT ${folder}/no_table.cpp CONTENT [[
#include "targets/llvm/jit/ahead_of_time.hpp"

namespace dyn::codegen {

std::span<const AheadOfTime> ahead_of_time_table() { return {}; }

}  // namespace dyn::codegen
]])
set(generator_objects)
foreach(part base graph rkernel choice codegen vendor host cpu)
  list(APPEND generator_objects $<TARGET_OBJECTS:dyn_${part}>)
endforeach()
add_library(dyn_layers STATIC EXCLUDE_FROM_ALL src/aot/layers.cpp src/aot/layer_code.cpp)
add_executable(dyn-aot src/aot/main.cpp ${folder}/no_table.cpp ${generator_objects})
set_source_files_properties(src/aot/main.cpp ${folder}/no_table.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
foreach(target dyn_layers dyn-aot)
  dyn_compile_settings(${target})
  target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
endforeach()
target_link_libraries(dyn_layers PRIVATE fmt::fmt)
target_link_libraries(dyn-aot PRIVATE dyn_layers fmt::fmt TBB::tbb Threads::Threads ${llvm_libraries})

set(aot_objects)
foreach(isa IN LISTS isas)
  list(APPEND aot_objects ${folder}/aot_${isa}.o)
endforeach()
add_custom_command(OUTPUT ${aot_objects} ${folder}/aot_table.cpp COMMAND dyn-aot ${folder} ${isas} DEPENDS dyn-aot VERBATIM
  COMMENT "Compiling code ahead of time")
set_source_files_properties(${aot_objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(dyn_aot OBJECT ${folder}/aot_table.cpp)
dyn_compile_settings(dyn_aot)
list(APPEND dyn_objects $<TARGET_OBJECTS:dyn_aot> ${aot_objects})
