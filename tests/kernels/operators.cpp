// Every operator at every shape of its cases, against the reference in float64.

#include <algorithm>
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

#include "src/runtime/load/model.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "tests/kernels/cases.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

std::string sizes_text(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) text += name + "=" + std::to_string(size) + " ";
  return text;
}

/// A GPU leaves to the host what computes in f64.
bool may_be_on_host(const rkernel::Problem& problem) {
  const auto is_double = [](const auto& part) { return part.dtype == DType::f64; };
  return std::ranges::any_of(problem.operands, is_double) ||
         std::ranges::any_of(problem.exprs, is_double);
}

void check_spaces(const Subject& subject, const std::string& device) {
  const runtime::Model& model = *subject.graph().model();
  for (std::size_t group = 0; group < model.problems().size(); ++group) {
    CAPTURE(model.problems()[group].name);
    const bool on_device = model.kernel(group).space() == rkernel::Space::Device;
    if (device == "cpu")
      CHECK(!on_device);
    else
      CHECK((on_device || may_be_on_host(model.problems()[group])));
  }
}

void run_case(const Case& item, Random& random, const Options& options) {
  const auto text = text_of(item);
  CAPTURE(text);
  const Subject subject(text, options);
  check_spaces(subject, options.device);
  for (const auto& sizes : item.sizes) {
    const auto where = sizes_text(sizes);
    CAPTURE(where);
    const auto inputs = subject.make_inputs(sizes, item.fills, random);
    CHECK_EQ(subject.check(inputs, item.tolerance, sizes), "");
  }
  const bool on_gpu = options.device == "emulator";
  CHECK(subject.graph().kernels_compiled_since_load() <=
        (on_gpu ? subject.graph().load_report().kernels : 0));
}

/// One of every `share` cases, unless sweeps are run in full.
void run_cases(const char* name, const std::vector<Case>& cases, int share = 1,
               const Options& options = test_options()) {
  Random random(name);
  Sweep sweep(share);
  for (const auto& item : cases) {
    if (sweep.takes()) CHECK_NOTHROW(run_case(item, random, options));
  }
}

TEST_SUITE("fast") {
  TEST_CASE("element-wise operators") { run_cases("elementwise", elementwise_cases()); }
  TEST_CASE("reductions") { run_cases("reductions", reduction_cases()); }
  TEST_CASE("matmul") { run_cases("matmul", matmul_cases()); }
  TEST_CASE("attention") { run_cases("attention", attention_cases()); }
  TEST_CASE("movement") { run_cases("movement", movement_cases()); }

  TEST_CASE("functions") { run_cases("functions", function_cases(), 8); }

  TEST_CASE("functions on a GPU") {
    Options options = test_options();
    options.device = "emulator";
    run_cases("functions on a GPU", function_cases(), 8, options);
  }

  TEST_CASE("dtypes on a GPU") {
    Options options = test_options();
    options.device = "emulator";
    run_cases("dtypes on a GPU", dtype_cases(), 12, options);
  }

  TEST_CASE("dtypes") { run_cases("dtypes", dtype_cases(), 3); }

  TEST_CASE("windows") { run_cases("windows", conv_pool_cases()); }

  TEST_CASE("an index out of range is an error") {
    const Subject subject(text_of({"r = gather(x, i) axis=0",
                                   "x: f32[A, 7], i: i64[B]",
                                   "r: f32[B, 7]",
                                   {{{"A", 1}, {"B", 1}}}}));
    Random random("out of range");
    auto inputs = subject.make_inputs({{"A", 5}, {"B", 40}}, {normal_fill, uniform(-5, 4)}, random);
    CHECK_EQ(subject.check(inputs, {}, {}), "");
    for (const std::int64_t bad : {std::int64_t{5}, std::int64_t{-6}, INT64_MAX, INT64_MIN}) {
      CAPTURE(bad);
      inputs[1].mutable_data<std::int64_t>()[23] = bad;
      CHECK_THROWS_AS(subject.graph().run({{"x", inputs[0]}, {"i", inputs[1]}}), Error);
    }
  }

  TEST_CASE("a scatter without elements finds an index out of range") {
    struct Empty {
      const char *ports, *statement;
      Shape x, i, u;
    };
    const Empty cases[] = {
        {"x: f32[A, B], i: i64[R, 1], u: f32[R, B]", "scatter_nd(x, i, u)", {4, 0}, {3, 1}, {3, 0}},
        {"x: f32[4, B, C], i: i64[R, 1], u: f32[R, B, C]",
         "scatter_nd(x, i, u) reduction=add",
         {4, 0, 5},
         {300, 1},
         {300, 0, 5}},
        {"x: f32[A, 4, B], i: i64[2, R, 2], u: f32[2, R, B]",
         "scatter_nd(x, i, u)",
         {5, 4, 0},
         {2, 3, 2},
         {2, 3, 0}}};
    for (const std::string device : {"cpu", "emulator", "reference"}) {
      for (const Empty& empty : cases) {
        const std::string ports = empty.ports;
        CAPTURE(device);
        CAPTURE(ports);
        Options options = test_options();
        options.device = device;
        std::string text = "dyn 1\n";
        for (const char* dim : {"A", "B", "C", "R"}) {
          if (ports.find(dim) != std::string::npos) text += fmt::format("dim {} in 0..400\n", dim);
        }
        const std::string x = ports.substr(3, ports.find(']') - 2);
        const Graph graph = Graph::from_text(
            text + fmt::format("graph g({}) -> (r: {}) {{\n  r = {}\n  return r\n}}\n", ports, x,
                               empty.statement),
            options);
        Tensor i(DType::i64, empty.i);
        const auto run = [&] {
          return graph.run({{"x", Tensor(DType::f32, empty.x)},
                            {"i", i},
                            {"u", Tensor(DType::f32, empty.u)}})[0];
        };
        CHECK(run().shape() == empty.x);
        for (const std::int64_t bad : {std::int64_t{4}, std::int64_t{-5}, INT64_MAX}) {
          i.mutable_data<std::int64_t>().back() = bad;
          CHECK_THROWS_WITH_AS(run(), doctest::Contains("out of range"), Error);
        }
      }
    }
  }

  TEST_CASE("a fully masked row gives 0, and leaves the other rows alone") {
    const Subject subject(
        text_of({"r = attention(q, k, v, m)",
                 "q: f32[B, 2, S, 8], k: f32[B, 2, S, 8], v: f32[B, 2, S, 8], m: f32[B, 1, S, S]",
                 "r: f32[B, 2, S, 8]",
                 {{{"B", 1}, {"S", 1}}}}));
    Random random("masked rows");
    for (const std::int64_t length : {1, 2, 16, 33}) {
      const Sizes sizes{{"B", 2}, {"S", length}};
      auto inputs = subject.make_inputs(sizes, {}, random);
      auto mask = inputs[3].mutable_data<float>();
      const auto row = static_cast<std::size_t>(length);
      for (std::size_t i = 0; i < mask.size(); ++i) {
        const bool hidden = i / row % 3 == 0 || (i % row > 0 && random.chance(0.5));
        mask[i] = hidden ? -std::numeric_limits<float>::infinity() : 0;
      }
      CHECK_EQ(subject.check(inputs, {Tolerance::Scale::Largest, 64}, sizes), "");
    }
  }
}

TEST_SUITE("full") {
  TEST_CASE("all operators on every narrower instruction set of this CPU") {
    Sweep sweep(7);
    for (const auto& isa : codegen::all_isas()) {
      if (!codegen::cpu_has(isa) || isa.name == codegen::select_isa("").name) continue;
      CAPTURE(isa.name);
      for (const auto& cases :
           {elementwise_cases(), reduction_cases(), matmul_cases(), attention_cases(),
            movement_cases(), conv_pool_cases(), dtype_cases()}) {
        if (sweep.takes()) run_cases("narrower", cases, 1, test_options(isa.name));
      }
    }
  }
}

}  // namespace
}  // namespace dyn::testing
