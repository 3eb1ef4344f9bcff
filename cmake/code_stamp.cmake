# What generated code depends on besides its class: a digest of the code generator's sources, part of every key of the code
# cache, so that no build takes another one's code from disk.
file(GLOB stamp_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/targets/llvm/*.?pp ${PROJECT_SOURCE_DIR}/targets/cpu/*.?pp
  ${PROJECT_SOURCE_DIR}/targets/ptx/*.?pp ${PROJECT_SOURCE_DIR}/targets/ptx/*.def ${PROJECT_SOURCE_DIR}/src/rkernel/*.?pp)
set(stamp_text)
foreach(source IN LISTS stamp_sources)
  file(SHA256 ${source} digest)
  string(APPEND stamp_text ${digest})
endforeach()
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${stamp_sources})
string(SHA256 stamp "${stamp_text}")
string(SUBSTRING ${stamp} 0 16 stamp)
set_source_files_properties(targets/cpu/code_stamp.cpp PROPERTIES COMPILE_DEFINITIONS DYN_CODE_STAMP="${stamp}")
