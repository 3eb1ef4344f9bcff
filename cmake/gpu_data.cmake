# targets/ptx/gpus/NAME.json, compiled in: a table of names and texts that gpu_descriptions.cpp parses.
file(GLOB gpu_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/targets/ptx/gpus/*.json)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${gpu_files})
set(gpu_entries)
foreach(gpu_file IN LISTS gpu_files)
  get_filename_component(gpu_name ${gpu_file} NAME_WE)
  file(READ ${gpu_file} gpu_text)
  string(APPEND gpu_entries "    {\"${gpu_name}\", R\"gpu(${gpu_text})gpu\"},\n")
endforeach()
set(gpu_data ${PROJECT_BINARY_DIR}/generated/gpu_data.cpp)
file(CONFIGURE OUTPUT ${gpu_data} @ONLY CONTENT [[
// From targets/ptx/gpus/*.json.
#include "targets/ptx/gpus/gpu_data.hpp"

namespace dyn::ptx {

std::span<const GpuData> gpu_data() {
  static constexpr GpuData table[] = {
@gpu_entries@  };
  return table;
}

}  // namespace dyn::ptx
]])
if(TARGET dyn_ptx)
  target_sources(dyn_ptx PRIVATE ${gpu_data})
endif()
