#pragma once

namespace dyn::choice {

/// The text of calibration.json (cmake/calibration_data.cmake).
extern const char* const calibration_data;

}  // namespace dyn::choice
