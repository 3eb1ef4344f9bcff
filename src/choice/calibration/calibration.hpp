#pragma once
// What was found by measuring, as data: the constants of the cost model and of the code generator.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace dyn::choice {

/// One member for each row of calibration.def, in its unit. All are 0 in a default one: take
/// default_calibration(), or calibration_from() of a file.
struct Calibration {
#define DYN_CALIBRATED(type, name, unit, neutral, meaning) type name = 0;
#include "src/choice/calibration/calibration.def"
#undef DYN_CALIBRATED
};

/// The one of calibration.json, which was compiled in. Code that machine-independent decisions
/// depend on (what is packed how, the order of sums) takes this one, whatever a Machine has.
const Calibration& default_calibration();

/// Reads `{"name": {"value": number, "basis": "what it was found from"}, ...}`. Throws Error(user)
/// that begins with `where` for text that is no JSON, and for a name that is missing, unknown, or
/// has no finite number of at least 0.
Calibration calibration_from(std::string_view text, const std::string& where);

/// The text of calibration.json with the values of `calibration`.
std::string calibration_text(const Calibration& calibration);

/// One constant, for programs that vary it.
struct CalibratedConstant {
  std::string_view name, unit, meaning;
  bool has_neutral = false;  ///< there is a value with which its term has no effect
  double (*get)(const Calibration&) = nullptr;
  void (*set)(Calibration&, double) = nullptr;
  double (*neutral)(const Calibration&) = nullptr;  ///< NaN where there is none
};

/// All of them, in the order of calibration.def.
std::span<const CalibratedConstant> calibrated_constants();

}  // namespace dyn::choice
