#include "src/choice/calibration/calibration.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "dyn/error.hpp"

using namespace dyn::choice;
using nlohmann::json;

namespace {

json default_json() { return json::parse(calibration_text(default_calibration())); }

std::string refusal(const json& text) {
  try {
    calibration_from(text.dump(), "a file");
  } catch (const dyn::Error& error) {
    CHECK(error.kind() == dyn::ErrorKind::user);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every constant has a name of its own, a unit, a meaning, and a basis in the data") {
  const json data = default_json();
  std::set<std::string_view> names;
  for (const CalibratedConstant& constant : calibrated_constants()) {
    CAPTURE(constant.name);
    CHECK(names.insert(constant.name).second);
    CHECK(!constant.unit.empty());
    CHECK(!constant.meaning.empty());
    CHECK(data.at(std::string(constant.name)).at("basis").get<std::string>().size() > 5);
    CHECK(std::isnan(constant.neutral(default_calibration())) == !constant.has_neutral);
  }
  CHECK(data.size() == names.size());
}

TEST_CASE("constants that were changed are read back from the text that is written") {
  Calibration changed = default_calibration();
  double value = 3;
  for (const CalibratedConstant& constant : calibrated_constants()) constant.set(changed, value++);
  const Calibration read = calibration_from(calibration_text(changed), "text");
  value = 3;
  for (const CalibratedConstant& constant : calibrated_constants()) {
    CAPTURE(constant.name);
    CHECK(constant.get(read) == value++);
  }
}

TEST_CASE("a file that is no calibration is refused with what is wrong in it") {
  json data = default_json();
  data.erase("tie");
  CHECK(refusal(data).starts_with("a file: 'tie' is missing (predictions closer than this"));
  for (const json& bad :
       {json(3), json("0.02"), json{{"value", "0.02"}}, json{{"value", -1}}, json::object()}) {
    data["tie"] = bad;
    CAPTURE(bad.dump());
    CHECK(refusal(data).starts_with("a file: 'tie' must be {\"value\": a number"));
  }
  data = default_json();
  data["ties"] = {{"value", 1}, {"basis", "none"}};
  CHECK(refusal(data) == "a file: there is no constant 'ties'; calibration.def has all");
  CHECK(refusal(json::array()) == "a file: no object in JSON");
  CHECK_THROWS_AS(calibration_from("{", "a file"), dyn::Error);
}
