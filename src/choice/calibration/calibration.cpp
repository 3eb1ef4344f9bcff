#include "src/choice/calibration/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "dyn/error.hpp"
#include "src/choice/calibration/calibration_data.hpp"

namespace dyn::choice {
namespace {

using nlohmann::ordered_json;

constexpr double none = std::numeric_limits<double>::quiet_NaN();

constexpr CalibratedConstant constants[] = {
#define DYN_CALIBRATED(type, name, unit, neutral, meaning)                  \
  {#name,                                                                   \
   unit,                                                                    \
   meaning,                                                                 \
   std::string_view(#neutral) != "none",                                    \
   [](const Calibration& c) { return static_cast<double>(c.name); },        \
   [](Calibration& c, double value) { c.name = static_cast<type>(value); }, \
   []([[maybe_unused]] const Calibration& c) { return static_cast<double>(neutral); }},
#include "src/choice/calibration/calibration.def"
#undef DYN_CALIBRATED
};

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::user, fmt::format("{}: {}", where, what));
}

double value_in(const ordered_json& json, const CalibratedConstant& constant,
                const std::string& where) {
  const auto found = json.find(constant.name);
  if (found == json.end())
    refuse(where, fmt::format("'{}' is missing ({}, in {})", constant.name, constant.meaning,
                              constant.unit));
  const auto value = found->is_object() ? found->find("value") : found->end();
  if (!found->is_object() || value == found->end() || !value->is_number() ||
      !(value->get<double>() >= 0) || !std::isfinite(value->get<double>()))
    refuse(where, fmt::format("'{}' must be {{\"value\": a number of at least 0, \"basis\": what "
                              "it was found from}}",
                              constant.name));
  return value->get<double>();
}

}  // namespace

std::span<const CalibratedConstant> calibrated_constants() { return constants; }

Calibration calibration_from(std::string_view text, const std::string& where) {
  const ordered_json json = ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) refuse(where, "no object in JSON");
  Calibration calibration;
  for (const CalibratedConstant& constant : constants)
    constant.set(calibration, value_in(json, constant, where));
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::find(constants, name, &CalibratedConstant::name) == std::end(constants))
      refuse(where, fmt::format("there is no constant '{}'; calibration.def has all", name));
  }
  return calibration;
}

const Calibration& default_calibration() {
  static const Calibration calibration =
      calibration_from(calibration_data, "calibration.json, as compiled in");
  return calibration;
}

std::string calibration_text(const Calibration& calibration) {
  ordered_json json = ordered_json::parse(calibration_data);
  std::string text = "{\n";
  for (const CalibratedConstant& constant : constants) {
    text += fmt::format("{}  \"{}\": {{\"value\": {},\n    \"basis\": {}}}",
                        &constant == constants ? "" : ",\n", constant.name,
                        ordered_json(constant.get(calibration)).dump(),
                        json.at(std::string(constant.name)).at("basis").dump());
  }
  return text + "\n}\n";
}

}  // namespace dyn::choice
