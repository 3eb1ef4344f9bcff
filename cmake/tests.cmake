# Programs that test: each from folders of tests/, all with tests/support and dyn's internals.

function(dyn_test_settings target)
  dyn_compile_settings(${target})
  target_compile_options(${target} PRIVATE ${light_options})
endfunction()

dyn_glob(fake_cuda_sources SOURCES tests/support/fake_cuda/*.cpp)
dyn_glob(support_sources SOURCES tests/support/*.cpp)
list(REMOVE_ITEM support_sources ${fake_cuda_sources})
add_library(dyn_test_support STATIC EXCLUDE_FROM_ALL ${support_sources} ${PROJECT_SOURCE_DIR}/tests/doctest.cpp)
dyn_test_settings(dyn_test_support)
target_include_directories(dyn_test_support SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(dyn_test_support PRIVATE doctest::doctest fmt::fmt)

# A driver over host memory. Under the name of the real one, so that a folder in LD_LIBRARY_PATH is enough to run on it.
add_library(fake_cuda MODULE EXCLUDE_FROM_ALL ${fake_cuda_sources})
dyn_test_settings(fake_cuda)
set_target_properties(fake_cuda PROPERTIES PREFIX "" OUTPUT_NAME libcuda SUFFIX .so.1
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fake_cuda)

# Plug-ins, good ones and broken ones, as their writers would build them.
add_custom_target(test_plugins)
file(GLOB plugin_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/plugins/*.c ${PROJECT_SOURCE_DIR}/tests/plugins/*.cpp)
foreach(source ${plugin_sources})
  get_filename_component(name ${source} NAME_WE)
  add_library(plugin_${name} MODULE EXCLUDE_FROM_ALL ${source})
  target_include_directories(plugin_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(plugin_${name} PRIVATE -Wall -Wextra -Wpedantic $<$<BOOL:${DYN_WERROR}>:-Werror>)
  set_target_properties(plugin_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} SUFFIX .so C_STANDARD 11 UNITY_BUILD OFF
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/plugins)
  add_dependencies(test_plugins plugin_${name})
endforeach()

add_custom_target(dyn_tests)  # all test programs

# dyn_test(name folders... [LIBRARIES targets]): test_<name> from folders of tests/, with one main and dyn's internals.
function(dyn_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  list(TRANSFORM arg_UNPARSED_ARGUMENTS PREPEND tests/ OUTPUT_VARIABLE patterns)
  list(TRANSFORM patterns APPEND /*.cpp)
  dyn_glob(sources SOURCES ${patterns})
  add_library(dyn_test_${name} OBJECT EXCLUDE_FROM_ALL ${sources})
  dyn_test_settings(dyn_test_${name})
  target_include_directories(dyn_test_${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(dyn_test_${name} PRIVATE
    DYN_SOURCE_DIR="${PROJECT_SOURCE_DIR}" DYN_BINARY_DIR="${PROJECT_BINARY_DIR}" DYN_FAKE_CUDA="$<TARGET_FILE:fake_cuda>")
  target_link_libraries(dyn_test_${name} PRIVATE doctest::doctest fmt::fmt Threads::Threads nlohmann_json::nlohmann_json)
  target_precompile_headers(dyn_test_${name} REUSE_FROM dyn_precompiled_tests)
  add_executable(test_${name} $<TARGET_OBJECTS:dyn_test_${name}> ${PROJECT_SOURCE_DIR}/tests/main.cpp)
  add_dependencies(test_${name} fake_cuda test_plugins)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(test_${name} PRIVATE ${arg_LIBRARIES} dyn_cli dyn_test_support dyn_internal doctest::doctest)
  set_target_properties(test_${name} PROPERTIES LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_dependencies(dyn_tests test_${name})
  set_property(GLOBAL APPEND PROPERTY dyn_test_folders ${arg_UNPARSED_ARGUMENTS})
endfunction()

# The folders of each program: the same tree as the product's. Programs are about equally long, so that they fill two processors.
set(folders_graph unit/graph unit/base)
set(folders_import unit/import unit/conformance)
set(folders_codegen unit/llvm unit/cpu/loop unit/reference)
set(folders_cpu unit/rkernel unit/fit unit/choice/calibration unit/choice/cost unit/choice/cpu unit/choice/policies
  unit/cpu/attention unit/cpu/contraction unit/cpu/measure unit/cpu/move
  unit/cpu/policies unit/cpu/tile unit/cpu/tuning unit/cpu/vendor)
set(folders_ptx unit/ptx unit/choice/gpu)
set(folders_runtime unit/runtime unit/host unit/c)

# It defines malloc, which headers of other files declare in their own way.
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/unit/runtime/run/allocation_counter.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

dyn_test(graph ${folders_graph})
dyn_test(import ${folders_import} LIBRARIES dyn_conformance)
dyn_test(codegen ${folders_codegen} LIBRARIES dyn_layers)
dyn_test(cpu ${folders_cpu} LIBRARIES dyn_fit)

# A developer's tool: it is not installed.
dyn_program(dyn-fit SOURCES src/fit/main.cpp LIBRARIES dyn_fit dyn_internal TEST)
set_target_properties(dyn-fit PROPERTIES EXCLUDE_FROM_ALL ON LINKER_LANGUAGE CXX)
dyn_test(ptx ${folders_ptx})
dyn_test(runtime ${folders_runtime})
dyn_test(cli unit/cli unit/tune)
dyn_test(kernels kernels)

# Tests in a folder that belongs to no program would never run.
file(GLOB_RECURSE unit_tests CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/unit/*.cpp)
get_property(tested_folders GLOBAL PROPERTY dyn_test_folders)
list(JOIN tested_folders "|" tested_folders)
foreach(file IN LISTS unit_tests)
  if(NOT file MATCHES "^(${tested_folders})/")
    message(FATAL_ERROR "tests/${file} is in no test program; name its folder in cmake/tests.cmake")
  endif()
endforeach()

# Checks of a device against the CPU, the emulator and float64; tests/gpu/run.sh runs it on a real GPU, CI on the emulator.
dyn_glob(gpu_check_sources SOURCES tests/gpu/*.cpp)
foreach(file unit/ptx/attention/attention_case unit/ptx/contraction/matmul_case unit/ptx/contraction/matmul_data kernels/compare kernels/difference kernels/random
    kernels/cases kernels/elementwise_cases kernels/reduction_cases kernels/matmul_cases kernels/movement_cases kernels/conv_pool_cases kernels/function_cases)
  list(APPEND gpu_check_sources ${PROJECT_SOURCE_DIR}/tests/${file}.cpp)
endforeach()
add_executable(dyn-gpu-check ${gpu_check_sources})
dyn_test_settings(dyn-gpu-check)
target_include_directories(dyn-gpu-check SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(dyn-gpu-check PRIVATE dyn_cli dyn_test_support dyn_internal nlohmann_json::nlohmann_json)
set_target_properties(dyn-gpu-check PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)

# Kernels of one instruction set, generated on any CPU and checked on one that has it; tests/avx512/run.sh.
dyn_glob(avx512_check_sources SOURCES tests/avx512/*.cpp)
add_executable(dyn-avx512-check ${avx512_check_sources} ${PROJECT_SOURCE_DIR}/tests/unit/cpu/contraction/fixture.cpp)
dyn_test_settings(dyn-avx512-check)
target_include_directories(dyn-avx512-check SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(dyn-avx512-check PRIVATE dyn_test_support dyn_internal)
set_target_properties(dyn-avx512-check PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)

# The ONNX project's backend test suite; tests/conformance/run.sh fetches its data.
dyn_glob(conformance_sources SOURCES tests/conformance/*.cpp EXCLUDE tests/conformance/main.cpp)
add_library(dyn_conformance STATIC EXCLUDE_FROM_ALL ${conformance_sources})
add_executable(dyn-conformance tests/conformance/main.cpp)
foreach(target dyn_conformance dyn-conformance)
  dyn_test_settings(${target})
  target_link_libraries(${target} PRIVATE nlohmann_json::nlohmann_json fmt::fmt)
endforeach()
target_link_libraries(dyn_conformance PUBLIC dyn_test_support dyn_internal)
target_link_libraries(dyn-conformance PRIVATE dyn_conformance)
set_target_properties(dyn-conformance PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)

# What a call costs in C and C++: by hand, not a test.
add_executable(dyn-bench-calls EXCLUDE_FROM_ALL tests/bench/call_cost.cpp)
dyn_compile_settings(dyn-bench-calls)
target_link_libraries(dyn-bench-calls PRIVATE dyn)

# Many callers of one graph at once: by hand, not a test.
add_executable(dyn-bench-callers EXCLUDE_FROM_ALL tests/bench/callers.cpp)
dyn_compile_settings(dyn-bench-callers)
target_include_directories(dyn-bench-callers SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(dyn-bench-callers PRIVATE dyn_cli dyn_internal)

# Fuzzers of the code that reads foreign files; tests/fuzz/run.sh runs them.
if(DYN_SANITIZE MATCHES "fuzzer-no-link")
  foreach(name onnx text safetensors npy)
    set(fuzzer_sources tests/fuzz/fuzz_${name}.cpp)
    if(name STREQUAL "onnx")
      list(APPEND fuzzer_sources tests/fuzz/mutate_onnx.cpp)
    endif()
    add_executable(fuzz_${name} EXCLUDE_FROM_ALL ${fuzzer_sources})
    dyn_compile_settings(fuzz_${name})
    target_link_libraries(fuzz_${name} PRIVATE dyn_cli dyn_internal nlohmann_json::nlohmann_json)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  endforeach()
endif()
