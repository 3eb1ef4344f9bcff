# A digest of the code generator's sources is part of every key of the code cache, besides the class: no build takes another one's code from
# disk.
set(stamp_folders src/base src/rkernel src/choice targets/llvm targets/cpu targets/ptx)
list(TRANSFORM stamp_folders PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE stamp_patterns)
list(TRANSFORM stamp_patterns APPEND /*.?pp OUTPUT_VARIABLE stamp_patterns)
file(GLOB_RECURSE stamp_sources CONFIGURE_DEPENDS ${stamp_patterns} ${PROJECT_SOURCE_DIR}/targets/ptx/ir/device_ops.def
  ${PROJECT_SOURCE_DIR}/graph/ops/scalar_ops.def ${PROJECT_SOURCE_DIR}/src/choice/calibration/calibration.def
  ${PROJECT_SOURCE_DIR}/src/choice/calibration/calibration.json)
set(stamp_text)
foreach(source IN LISTS stamp_sources)
  file(SHA256 ${source} digest)
  string(APPEND stamp_text ${digest})
endforeach()
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${stamp_sources})
string(SHA256 stamp "${stamp_text}")
string(SUBSTRING ${stamp} 0 16 stamp)
set_source_files_properties(targets/llvm/jit/code_stamp.cpp PROPERTIES COMPILE_DEFINITIONS DYN_CODE_STAMP="${stamp}")
