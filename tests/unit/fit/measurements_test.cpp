#include "src/fit/measurements.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "dyn/error.hpp"
#include "src/choice/calibration/json.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace dyn::fit;
using nlohmann::json;

namespace {

json shape_line() {
  dyn::choice::Choice choice;
  choice.program.regions.resize(1);
  return {{"suite", "s"},
          {"shape", "M=1"},
          {"threads", 2},
          {"sizes", {dyn::choice::ContractionShape()}},
          {"programs", {{0, choice, 2e-6}, {0, choice, 1e-6}}}};
}

std::string refusal(const std::string& text) {
  const dyn::testing::TemporaryFolder folder;
  const std::string path = folder.string() + "/m.jsonl";
  std::ofstream(path) << text;
  try {
    read_measurements(std::vector{path});
  } catch (const dyn::Error& error) {
    const std::string what = error.what();
    REQUIRE(what.starts_with(path));
    return what.substr(path.size());
  }
  return "";
}

}  // namespace

TEST_CASE("measurements are read with the machine of the line before") {
  const dyn::testing::TemporaryFolder folder;
  const std::string path = folder.string() + "/m.jsonl";
  const json machine = {{"machine", dyn::testing::round_machine()}};
  std::ofstream(path) << machine.dump() << "\n" << shape_line().dump() << "\n";
  const std::vector<MeasuredShape> shapes = read_measurements(std::vector{path});
  REQUIRE(shapes.size() == 1);
  CHECK(shapes[0].suite == "s");
  CHECK(shapes[0].threads == 2);
  CHECK(shapes[0].machine->panel == dyn::testing::round_machine().panel);
  CHECK(shapes[0].programs.size() == 2);
  CHECK(shapes[0].best_seconds() == 1e-6);
}

TEST_CASE("a file that holds no measurements is refused by line") {
  const std::string machine = json{{"machine", dyn::testing::round_machine()}}.dump() + "\n";
  CHECK(refusal("x").starts_with(":1: "));
  CHECK(refusal(shape_line().dump()).starts_with(":1: a shape comes before its machine"));
  json line = shape_line();
  line["programs"][1][2] = 0;
  CHECK(refusal(machine + line.dump()).starts_with(":2: a program has no sizes, no time"));
  line = shape_line();
  line["programs"][0][0] = 1;
  CHECK(refusal(machine + line.dump()).starts_with(":2: a program has no sizes, no time"));
  line = shape_line();
  line["programs"] = json::array();
  CHECK(refusal(machine + line.dump()).starts_with(":2: a shape comes before its machine"));
  CHECK_THROWS_AS(read_measurements(std::vector<std::string>{"no/such/file"}), dyn::Error);
}
