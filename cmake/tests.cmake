# test_<area> from tests/unit/<area>, test_kernels from tests/kernels; all with tests/support and dyn's internals.

dyn_glob(fake_cuda_sources SOURCES tests/support/fake_cuda/*.cpp)
dyn_glob(support_sources SOURCES tests/support/*.cpp)
list(REMOVE_ITEM support_sources ${fake_cuda_sources})
if(support_sources)
  add_library(dyn_test_support STATIC EXCLUDE_FROM_ALL ${support_sources})
  dyn_compile_settings(dyn_test_support)
  target_link_libraries(dyn_test_support PRIVATE doctest::doctest fmt::fmt)
endif()

# A driver over host memory. Under the name of the real one, so that a folder in LD_LIBRARY_PATH is enough to run on it.
add_library(fake_cuda MODULE EXCLUDE_FROM_ALL ${fake_cuda_sources})
dyn_compile_settings(fake_cuda)
set_target_properties(fake_cuda PROPERTIES PREFIX "" OUTPUT_NAME libcuda SUFFIX .so.1
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fake_cuda)

add_custom_target(dyn_tests)  # all test programs

function(dyn_test name folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  dyn_compile_settings(${name})
  target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${onnx_messages})
  target_compile_definitions(${name} PRIVATE
    DYN_SOURCE_DIR="${PROJECT_SOURCE_DIR}" DYN_BINARY_DIR="${PROJECT_BINARY_DIR}" DYN_FAKE_CUDA="$<TARGET_FILE:fake_cuda>")
  add_dependencies(${name} fake_cuda)
  foreach(library dyn_cli dyn_test_support)
    if(TARGET ${library})
      target_link_libraries(${name} PRIVATE ${library})
    endif()
  endforeach()
  target_link_libraries(${name} PRIVATE dyn_internal doctest::doctest nlohmann_json::nlohmann_json)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_dependencies(dyn_tests ${name})
  add_test(NAME ${name} COMMAND ${name})
endfunction()

file(GLOB areas CONFIGURE_DEPENDS LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/tests/unit/*)
foreach(area ${areas})
  if(IS_DIRECTORY ${area})
    get_filename_component(area_name ${area} NAME)
    dyn_test(test_${area_name} ${area})
  endif()
endforeach()
dyn_test(test_kernels ${PROJECT_SOURCE_DIR}/tests/kernels)

# Checks of a device against the CPU, the emulator and float64; tests/gpu/run.sh runs it on a real GPU, CI on the emulator.
dyn_glob(gpu_check_sources SOURCES tests/gpu/*.cpp)
foreach(file unit/ptx/matmul_case unit/ptx/matmul_data kernels/compare kernels/difference kernels/random kernels/cases kernels/elementwise_cases
    kernels/reduction_cases kernels/matmul_cases kernels/movement_cases)
  list(APPEND gpu_check_sources ${PROJECT_SOURCE_DIR}/tests/${file}.cpp)
endforeach()
add_executable(dyn-gpu-check ${gpu_check_sources})
dyn_compile_settings(dyn-gpu-check)
target_include_directories(dyn-gpu-check SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(dyn-gpu-check PRIVATE dyn_cli dyn_test_support dyn_internal nlohmann_json::nlohmann_json)
set_target_properties(dyn-gpu-check PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)

# Kernels of one instruction set, generated on any CPU and checked on one that has it; tests/avx512/run.sh.
dyn_glob(avx512_check_sources SOURCES tests/avx512/*.cpp)
add_executable(dyn-avx512-check ${avx512_check_sources} ${PROJECT_SOURCE_DIR}/tests/unit/cpu/contraction_fixture.cpp)
dyn_compile_settings(dyn-avx512-check)
target_link_libraries(dyn-avx512-check PRIVATE dyn_test_support dyn_internal)
set_target_properties(dyn-avx512-check PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)

# The ONNX project's backend test suite; tests/conformance/run.sh fetches its data.
dyn_glob(conformance_sources SOURCES tests/conformance/*.cpp EXCLUDE tests/conformance/main.cpp)
add_library(dyn_conformance STATIC EXCLUDE_FROM_ALL ${conformance_sources} ${PROJECT_SOURCE_DIR}/tests/support/half.cpp)
add_executable(dyn-conformance tests/conformance/main.cpp)
foreach(target dyn_conformance dyn-conformance)
  dyn_compile_settings(${target})
  target_include_directories(${target} SYSTEM PRIVATE ${onnx_messages})
  target_link_libraries(${target} PRIVATE nlohmann_json::nlohmann_json fmt::fmt)
endforeach()
target_link_libraries(dyn_conformance PUBLIC dyn_internal)
target_link_libraries(dyn-conformance PRIVATE dyn_conformance)
target_link_libraries(test_conformance PRIVATE dyn_conformance)
set_target_properties(dyn-conformance PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)

# Many callers of one graph at once: by hand, not a test.
add_executable(dyn-bench-callers EXCLUDE_FROM_ALL tests/bench/callers.cpp)
dyn_compile_settings(dyn-bench-callers)
target_include_directories(dyn-bench-callers SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(dyn-bench-callers PRIVATE dyn_cli dyn_internal)
