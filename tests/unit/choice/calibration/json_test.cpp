#include "src/choice/calibration/json.hpp"

#include <doctest/doctest.h>

#include <random>

#include "tests/support/round_machine.hpp"

using namespace dyn::choice;
using nlohmann::json;

namespace {

ContractionShape unusual_shape() {
  ContractionShape shape;
  shape.lanes = dyn::rkernel::LaneAxis::M;
  shape.batch = 2, shape.m = 3, shape.n = 5, shape.k = 7;
  shape.a_dtype = dyn::DType::f16, shape.b_dtype = dyn::DType::bf16;
  shape.b_packed = false, shape.must_pack_b = true, shape.b_row_bytes = 11;
  shape.must_copy_a = true, shape.a_row_bytes = 13, shape.a_slides = true;
  shape.a_distinct = 0.25F, shape.a_runs = 17, shape.a_strips = {19, 23, 29, 31};
  shape.epilogue_operations = 2.5, shape.inlined_rows = 37, shape.epilogue_bytes = 41;
  shape.fixed_slices = 43, shape.may_dot_rest = true, shape.rest_as_rows = true;
  shape.a_level = 2, shape.b_level = 3;
  shape.right_sides = 4, shape.a_operations = 47, shape.b_operations = 53;
  return shape;
}

/// Every member of an object in JSON differs from `other`'s.
void all_differ(const json& one, const json& other) {
  CHECK(one.size() == other.size());
  for (const auto& [name, value] : one.items()) {
    CAPTURE(name);
    CHECK(value != other.at(name));
  }
}

}  // namespace

TEST_CASE("sizes, programs and machines are read back as they were written") {
  const ContractionShape shape = unusual_shape();
  all_differ(json(shape), json(ContractionShape()));
  const json text = json::parse(json(shape).dump());
  CHECK(json(text.get<ContractionShape>()) == json(shape));

  Choice choice;
  choice.threads = 3;
  choice.program.regions = {
      {1, 2, 3, 4, {5, 6, 7, 8, 9, 10, true, dyn::rkernel::LaneAxis::K, true, true}},
      {11, 12, 13, 14, {}}};
  const auto read = json::parse(json(choice).dump()).get<Choice>();
  CHECK(read.program == choice.program);
  CHECK(read.threads == 3);

  std::mt19937_64 random(1);
  Machine machine = dyn::testing::random_machine(random, 2);
  machine.narrow_tiles[dyn::DType::bf16] = {{1, 16, 1e-9}};
  machine.dot_rows = {0, 8, 4};
  const auto again = json::parse(json(machine).dump()).get<Machine>();
  CHECK(json(again) == json(machine));
  CHECK(again.find_tile(1, 16, dyn::DType::bf16)->seconds_per_k == 1e-9);
}

TEST_CASE("sizes that say nothing of right sides are those of one product of factors in memory") {
  json sizes = unusual_shape();
  for (const char* name : {"right_sides", "a_operations", "b_operations"}) sizes.erase(name);
  const auto read = sizes.get<ContractionShape>();
  CHECK(read.right_sides == 1);
  CHECK(read.a_operations == 0);
  CHECK(read.b_operations == 0);
}

TEST_CASE("what is missing in a machine or sizes throws") {
  json sizes = ContractionShape();
  sizes.erase("a_runs");
  CHECK_THROWS_AS(sizes.get<ContractionShape>(), json::exception);
  sizes = ContractionShape();
  sizes["b_dtype"] = "f31";
  CHECK_THROWS(sizes.get<ContractionShape>());
  json machine = Machine();
  machine.erase("panel");
  CHECK_THROWS_AS(machine.get<Machine>(), json::exception);
}
