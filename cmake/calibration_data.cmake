# src/choice/calibration/calibration.json, compiled in; part of what generated code depends on (cmake/code_stamp.cmake).
set(calibration_file ${PROJECT_SOURCE_DIR}/src/choice/calibration/calibration.json)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${calibration_file})
file(READ ${calibration_file} calibration_text)
set(calibration_data ${PROJECT_BINARY_DIR}/generated/calibration_data.cpp)
file(CONFIGURE OUTPUT ${calibration_data} @ONLY CONTENT [[
// From src/choice/calibration/calibration.json.
#include "src/choice/calibration/calibration_data.hpp"

namespace dyn::choice {

const char* const calibration_data = R"calibration(@calibration_text@)calibration";

}  // namespace dyn::choice
]])
target_sources(dyn_choice PRIVATE ${calibration_data})
