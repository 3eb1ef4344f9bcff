# The registry of everything that tests/run.sh runs: CTest's list, with a label for each lane. `ctest --test-dir build/release -L default` runs the same.

set(stage_results ${PROJECT_BINARY_DIR}/stages)
set(sanitized_build ${PROJECT_SOURCE_DIR}/build/asan-ubsan)

# The stages of a part depend on the part and on what it may include (tests/structure.sh).
set(inputs_graph include graph src/base)
set(inputs_kernels ${inputs_graph} src/rkernel src/choice targets/llvm)
set(inputs_product include graph src targets)
# Tests of every part use what the runtime's own share.
set(inputs_tests tests/support tests/main.cpp tests/doctest.cpp tests/unit/runtime/load/support.hpp)

# dyn_stage(name KIND kind COMMAND words... [ALL] [ALONE] [INPUTS paths] [NEEDS fixture] [MAKES fixture] [WEIGHT n])
#   KIND    how it reports, see tests/stage.sh
#   ALL     in the lane `all` only
#   ALONE   nothing else runs beside it: it uses all cores, or measures
#   INPUTS  where it is not run again while these are as they were when it passed
#   WEIGHT  stages of more weight begin earlier, until CTest knows how long each takes
function(dyn_stage name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALL;ALONE" "KIND;NEEDS;MAKES;WEIGHT" "COMMAND;INPUTS;ENVIRONMENT")
  set(inputs)
  if(arg_INPUTS)
    list(JOIN arg_INPUTS " " words)
    set(inputs --inputs ${words})
  endif()
  add_test(NAME ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMAND bash ${PROJECT_SOURCE_DIR}/tests/stage.sh ${name} ${arg_KIND} ${stage_results} ${inputs} -- ${arg_COMMAND})
  set(labels all)
  if(NOT arg_ALL)
    list(APPEND labels default)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 3600)
  if(arg_ALONE)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
  if(arg_NEEDS)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED ${arg_NEEDS})
  endif()
  if(arg_MAKES)
    set_tests_properties(${name} PROPERTIES FIXTURES_SETUP ${arg_MAKES})
  endif()
  if(arg_WEIGHT)
    set_tests_properties(${name} PROPERTIES COST ${arg_WEIGHT})
  endif()
  if(arg_ENVIRONMENT)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
endfunction()

# dyn_program_stage(name PROGRAM path FOLDERS folders of tests/ [INPUTS paths] [ARGUMENTS for doctest] [as dyn_stage...]): a test program as a stage.
function(dyn_program_stage name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALL;ALONE" "PROGRAM;NEEDS;WEIGHT" "FOLDERS;INPUTS;ARGUMENTS;ENVIRONMENT")
  list(TRANSFORM arg_FOLDERS PREPEND tests/)
  set(passed_on)
  foreach(flag ALL ALONE)
    if(arg_${flag})
      list(APPEND passed_on ${flag})
    endif()
  endforeach()
  foreach(option NEEDS WEIGHT ENVIRONMENT)
    if(arg_${option})
      list(APPEND passed_on ${option} ${arg_${option}})
    endif()
  endforeach()
  dyn_stage(${name} KIND cases COMMAND ${arg_PROGRAM} --no-colors=true --no-intro=true --duration=true ${arg_ARGUMENTS}
    INPUTS ${arg_INPUTS} ${inputs_tests} ${arg_FOLDERS} ${passed_on})
endfunction()

set(tests ${PROJECT_BINARY_DIR}/tests)
# Cases that count threads, measure, or look at how long others wait.
set(timed_cpu *measure_test.cpp,*read_bandwidth_test.cpp,*choices_test.cpp)
set(timed_runtime *helpers_test.cpp,*concurrent_test.cpp,*thread_count_test.cpp,*run_pool_test.cpp,*determinism_test.cpp)

# What decides what each program does, with or without sanitizers: sources, and what its tests read.
set(inputs_of_graph ${inputs_graph} src/rkernel targets/reference docs/ir.md examples)
set(inputs_of_codegen ${inputs_kernels} targets/cpu targets/reference)
set(inputs_of_cpu ${inputs_kernels} targets/cpu targets/vendor src/fit)
set(inputs_of_ptx ${inputs_kernels} targets/cpu targets/ptx targets/reference docs/device_operations.md)
set(inputs_of_import ${inputs_product})
set(inputs_of_runtime ${inputs_product} examples)
set(inputs_of_cli ${inputs_product})
set(inputs_of_kernels ${inputs_product})
set(folders_of_graph ${folders_graph} golden bad models)
set(folders_of_codegen ${folders_codegen})
set(folders_of_cpu ${folders_cpu})
set(folders_of_ptx ${folders_ptx} mutants/gpu)
set(folders_of_import ${folders_import} conformance)
set(folders_of_runtime ${folders_runtime})
set(folders_of_cli unit/cli bench/suites)
set(folders_of_kernels kernels models)

function(dyn_unit_stage name program)  # as dyn_stage
  dyn_program_stage(${name} PROGRAM ${tests}/test_${program} FOLDERS ${folders_of_${program}} INPUTS ${inputs_of_${program}} ${ARGN})
endfunction()
dyn_unit_stage(unit.graph graph)
dyn_unit_stage(unit.codegen codegen WEIGHT 50)
dyn_unit_stage(unit.cpu cpu ARGUMENTS --source-file-exclude=${timed_cpu} WEIGHT 80)
dyn_unit_stage(unit.cpu_timed cpu ARGUMENTS --source-file=${timed_cpu} ALONE)
dyn_unit_stage(unit.ptx ptx WEIGHT 70)
dyn_unit_stage(unit.import import WEIGHT 30)
dyn_unit_stage(unit.runtime runtime ARGUMENTS --source-file-exclude=${timed_runtime} WEIGHT 40)
dyn_unit_stage(unit.runtime_timed runtime ARGUMENTS --source-file=${timed_runtime} ALONE)
dyn_unit_stage(unit.cli cli)
dyn_unit_stage(kernels kernels WEIGHT 60)

dyn_stage(examples KIND lines COMMAND bash tests/examples.sh ${PROJECT_BINARY_DIR} INPUTS ${inputs_product} examples tests/examples.sh)
dyn_stage(structure KIND lines COMMAND bash tests/structure.sh)
dyn_stage(format KIND lines COMMAND bash tests/format.sh)
dyn_stage(tidy ALL ALONE KIND lines COMMAND bash tests/tidy.sh INPUTS ${inputs_product} .clang-tidy tests/tidy.sh)
foreach(script cache_faults dynrun gpu_operators language_id low_memory op ptx select)
  set(lone)
  if(script MATCHES "^(op|select)$")
    set(lone ALONE)  # they measure
  endif()
  dyn_stage(cli.${script} KIND lines COMMAND bash tests/cli/${script}.sh ${PROJECT_BINARY_DIR} ${lone}
    INPUTS ${inputs_product} tests/cli tests/support tests/gpu tests/bench examples)
endforeach()
dyn_stage(conformance KIND lines COMMAND bash tests/conformance/run.sh ${PROJECT_BINARY_DIR}
  INPUTS ${inputs_product} tests/conformance tests/support docs/conformance.md WEIGHT 20)
dyn_stage(random_graphs KIND lines COMMAND bash tests/conformance/random_graphs.sh ${PROJECT_BINARY_DIR} INPUTS ${inputs_product} tests/conformance tests/support WEIGHT 20)
dyn_stage(light_models KIND lines COMMAND bash tests/conformance/light_models.sh ${PROJECT_BINARY_DIR} INPUTS ${inputs_product} tests/conformance tests/support WEIGHT 20)
dyn_stage(install KIND lines COMMAND bash tests/install/run.sh ${PROJECT_BINARY_DIR} INPUTS ${inputs_product} tests/install WEIGHT 10)
dyn_stage(avx512 KIND lines COMMAND bash tests/avx512/run.sh ${PROJECT_BINARY_DIR})
dyn_stage(mutants.touched KIND lines COMMAND bash tests/mutants/run.sh ${PROJECT_BINARY_DIR} --touched ALONE)
dyn_stage(mutants ALL KIND lines COMMAND bash tests/mutants/run.sh ${PROJECT_BINARY_DIR} ALONE)

# Sanitizers and fuzzers share one build, by clang. The default lane has what reads foreign bytes or manages memory. The suite `full`, long sweeps and
# cases that weigh the process's own memory, is left to the build without them.
set(reading_programs graph import runtime cli)
set(other_programs codegen cpu ptx kernels)
list(TRANSFORM reading_programs PREPEND test_ OUTPUT_VARIABLE reading_targets)
list(TRANSFORM other_programs PREPEND test_ OUTPUT_VARIABLE other_targets)
set(fuzzers fuzz_onnx fuzz_text fuzz_safetensors fuzz_npy)
dyn_stage(sanitized.build KIND lines COMMAND bash tests/build.sh asan-ubsan ${reading_targets} ${fuzzers} ALONE MAKES sanitized)
dyn_stage(sanitized.build_all ALL KIND lines COMMAND bash tests/build.sh asan-ubsan ${other_targets} ALONE MAKES sanitized_all NEEDS sanitized)
set(sanitizer_options ASAN_OPTIONS=detect_stack_use_after_return=1:detect_container_overflow=0 UBSAN_OPTIONS=print_stacktrace=1)
function(dyn_sanitized_stage name program)  # arguments for doctest, then as dyn_stage
  cmake_parse_arguments(PARSE_ARGV 2 arg "ALONE" "" "ARGUMENTS")
  set(passed_on)
  set(needs sanitized)
  if(arg_ALONE)
    list(APPEND passed_on ALONE)
  endif()
  if(program IN_LIST other_programs)
    list(APPEND passed_on ALL)
    set(needs sanitized_all)
  endif()
  dyn_program_stage(sanitized.${name} PROGRAM ${sanitized_build}/tests/test_${program} FOLDERS ${folders_of_${program}} INPUTS ${inputs_of_${program}}
    ARGUMENTS --test-suite-exclude=full ${arg_ARGUMENTS} ${passed_on} NEEDS ${needs} ENVIRONMENT ${sanitizer_options})
endfunction()
foreach(program graph import cli ${other_programs})
  dyn_sanitized_stage(${program} ${program})
endforeach()
dyn_sanitized_stage(runtime runtime ARGUMENTS --source-file-exclude=${timed_runtime})
dyn_sanitized_stage(runtime_timed runtime ARGUMENTS --source-file=${timed_runtime} ALONE)
dyn_stage(fuzz.regressions KIND lines COMMAND bash tests/fuzz/run.sh ${sanitized_build} --seconds 0 INPUTS ${inputs_product} tests/fuzz NEEDS sanitized)
dyn_stage(fuzz.explore ALL ALONE KIND lines COMMAND bash tests/fuzz/run.sh ${sanitized_build} NEEDS sanitized)
dyn_stage(threads ALL ALONE KIND lines COMMAND bash tests/thread_sanitizer.sh
  INPUTS ${inputs_product} ${inputs_tests} tests/unit/runtime tests/unit/host tests/thread_sanitizer.sh tests/thread_sanitizer.supp examples)
