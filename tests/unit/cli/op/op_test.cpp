// dynrun op: types, suites, peers, models of one operator, and statistics.

#include <cmath>
#include <functional>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/error.hpp"
#include "dyn/graph.hpp"
#include "src/base/statistics.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/cli/op/op_report.hpp"
#include "src/cli/op/operand.hpp"
#include "src/cli/op/peer_process.hpp"
#include "src/cli/op/slices.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::cli;
using dyn::DType;
using dyn::geometric_mean;

namespace {

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const dyn::Error& error) { return error.what(); }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("op: operands with numbers alone are constant where another one has names") {
  const auto operands = parse_operands("f32[M,768] x f32[768,2304]");
  REQUIRE(operands.size() == 2);
  CHECK(operands[0] == OpOperand{false, DType::f32, {"M", "768"}});
  CHECK(operands[1] == OpOperand{true, DType::f32, {"768", "2304"}});
  CHECK(to_string(operands) == "f32[M,768] x const f32[768,2304]");
  CHECK(parse_operands(to_string(operands)) == operands);
  CHECK_FALSE(parse_operands("f32[3, 4] x f32[4, 5]")[1].constant);
  CHECK(parse_operands("f32[3,4] x const f32[4,5]")[1].constant);
  CHECK_FALSE(parse_operands("f32[M,4],input f32[4,5]")[1].constant);
  CHECK(parse_operands("f32[M,4] , i64[] x bool[x_1]")[1] == OpOperand{true, DType::i64, {}});
  CHECK(dim_names(parse_operands("f32[B,S,4] x f32[S,C]")) ==
        std::vector<std::string>{"B", "S", "C"});
}

TEST_CASE("op: broken types are quoted") {
  for (const char* text : {"", "f32", "f33[M]", "f32[M", "f32[M,]", "f32[M-1]", "f32[7M]",
                           "f32[M] f32[M]", "const", "f32[M] x", "f32[M]]", "f32[-1]"}) {
    CAPTURE(text);
    CHECK(contains(message_of([&] { parse_operands(text); }), fmt::format("\"{}\"", text)));
  }
  CHECK(contains(message_of([] { parse_attribute("axis"); }), "--attr axis"));
  CHECK(contains(message_of([] { shape_of({false, DType::f32, {"M"}}, {{"N", 1}}); }),
                 "dim M has no value"));
}

TEST_CASE("op: peers") {
  using Words = std::vector<std::string>;
  const auto specs = parse_peers(
      "onednn,other=/lib/libdnnl.so.3,torch=exec:python3 worker.py --fast", "/bin/dyn-peer");
  REQUIRE(specs.size() == 3);
  CHECK(specs[0] == PeerSpec{"onednn", {"/bin/dyn-peer", "onednn"}});
  CHECK(specs[1].command == Words{"/bin/dyn-peer", "/lib/libdnnl.so.3"});
  CHECK(specs[2] == PeerSpec{"torch", {"python3", "worker.py", "--fast"}});
  CHECK(parse_peers("", "").empty());
  for (const char* text :
       {"abacus", "onednn,onednn", "=x.so", "a b=x.so", "a=", "a=exec:", "best=x.so", ",blis"}) {
    CAPTURE(text);
    CHECK(contains(message_of([&] { parse_peers(text, ""); }), "--peers"));
  }
}

static dyn::Options kept_in(const std::string& weights) {
  dyn::Options options;
  options.weights = weights;
  return options;
}

TEST_CASE("op: a model of one operator computes what the operator does") {
  const OpProblem problem{
      "matmul", {{"transpose_b", "true"}}, parse_operands("f32[M,K] x f32[N,K]")};
  CHECK(compulsory_bytes(problem, {{"M", 2}, {"K", 3}, {"N", 5}}, kept_in("f32")) ==
        4 * (6 + 15 + 10));
  const OpProblem constant{"matmul", {}, parse_operands("f32[M,4] x f32[4,8]")};
  CHECK(compulsory_bytes(constant, {{"M", 2}}, kept_in("f32")) == 4 * (8 + 32 + 16));
  CHECK(compulsory_bytes(constant, {{"M", 2}}, kept_in("i8")) == 4 * (8 + 16) + 32);
  CHECK(compulsory_bytes(constant, {{"M", 2}}, kept_in("i4")) == 4 * (8 + 16) + 32 * 18 / 32);
  CHECK(compulsory_bytes(problem, {{"M", 0}, {"K", 3}, {"N", 5}}, kept_in("bf16")) == 0);
  dyn::Options options;
  options.device = "reference";
  const dyn::Graph graph = dyn::Graph::from_text(model_text(problem, 3), options);
  REQUIRE(graph.inputs().size() == 6);
  REQUIRE(graph.outputs().size() == 3);
  std::mt19937_64 random(dyn::testing::test_seed());
  std::uniform_real_distribution<float> uniform(-1, 2);
  dyn::NamedTensors inputs;
  for (int copy = 0; copy < 3; ++copy) {
    for (const auto& [operand, rows] : {std::pair{0, 2}, std::pair{1, 5}}) {
      dyn::Tensor tensor(DType::f32, {rows, 3});
      for (float& value : tensor.mutable_data<float>()) value = uniform(random);
      inputs.emplace_back(fmt::format("x{}_{}", operand, copy), tensor);
    }
  }
  const dyn::Outputs outputs = graph.run(inputs);
  for (std::size_t copy = 0; copy < 3; ++copy) {
    const auto a = inputs[2 * copy].second.data<float>(),
               b = inputs[2 * copy + 1].second.data<float>(), y = outputs[copy].data<float>();
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 5; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 3; ++k) sum += double{a[i * 3 + k]} * b[j * 3 + k];
        CHECK(y[i * 5 + j] == doctest::Approx(sum).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("op: operators that select move no more than they select") {
  const OpProblem gather{"gather", {{"axis", "0"}}, parse_operands("const f32[1000,8] x i64[S]")};
  CHECK(compulsory_bytes(gather, {{"S", 2}}, kept_in("bf16")) == 2 * 2 * 8 * 4 + 2 * 8);
  CHECK(result_of({"equal", {}, parse_operands("f32[M] x f32[M]")}, {{"M", 3}}).dtype ==
        DType::boolean);
  CHECK(contains(
      message_of([] { result_of({"frobnicate", {}, parse_operands("f32[M]")}, {{"M", 3}}); }),
      "frobnicate"));
  CHECK(contains(
      message_of([] { result_of({"matmul", {}, parse_operands("f32[2,3] x f32[4,5]")}, {}); }),
      "matmul"));
}

TEST_CASE("op: statistics") {
  CHECK(geometric_mean({2, 8}) == doctest::Approx(4));
  std::vector<OpRecord> records;
  for (const double ratio : {0.5, 1.0, 2.0, 4.0}) {
    records.push_back({{{"op", std::string("matmul")}, {"limit_ratio", ratio / 5}},
                       fmt::format("matmul M={}", ratio),
                       2,
                       "warm",
                       ratio / 5,
                       {ratio, std::nullopt}});
  }
  records[3].ratios = {4.0, 0.9};
  CHECK(*records[3].ratio_best() == 0.9);
  const auto rows = summary_rows(records, {"one", "other"});
  REQUIRE(rows.size() == 4);
  const auto value = [&](std::size_t row, std::size_t column) {
    return std::get<double>(rows[row][column].second);
  };
  CHECK(std::get<std::string>(rows[1][0].second) == "ratio_one");
  CHECK(std::get<std::int64_t>(rows[2][3].second) == 1);
  CHECK(value(1, 4) == doctest::Approx(std::sqrt(2.0)));
  CHECK(value(1, 5) == doctest::Approx(0.65));  // between 0.5 and 1 at 0.3
  CHECK(value(1, 6) == doctest::Approx(0.75));
  CHECK(value(3, 4) == doctest::Approx(std::pow(0.9, 0.25)));
  const auto lost = lost_shapes(records, {"one", "other"});
  REQUIRE(lost.size() == 2);
  CHECK(lost[0] == "matmul M=0.5 threads=2 warm: 0.500 of one");
  CHECK(lost[1] == "matmul M=4 threads=2 warm: 0.900 of other");
  const std::string csv = report_text(records, {"one", "other"}, Format::csv);
  CHECK(contains(csv, "\n# summary=ratio_one threads=2 state=warm shapes=4 geometric_mean=1.414"));
  CHECK(contains(csv, "# lost: matmul M=0.5"));
  CHECK(contains(report_text(records, {"one", "other"}, Format::json),
                 "\"summary\": \"limit_ratio\""));
}

TEST_CASE("op: a slice has at least one sample, and batches what is short") {
  int runs = 0;
  CHECK(time_slice(0, [&] { ++runs; }).size() == 1);
  CHECK(runs == 1);
  runs = 0;
  const auto samples = time_slice(1e-3, [&] { ++runs; });
  CHECK_FALSE(samples.empty());
  CHECK(runs > static_cast<int>(samples.size()));
}
