// Kernels of operators over whole tensors: which problems have one, what they choose, and that they
// assemble.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <map>

#include "dyn/error.hpp"
#include "src/rkernel/target/device.hpp"
#include "targets/ptx/function/kernel.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/ptxas.hpp"
#include "tests/unit/ptx/target_fixture.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;

namespace {

/// The kernel of the only statement, without code; nullptr: a GPU has none.
std::unique_ptr<FunctionKernel> kernel_of(const LoweredGraph& graph) {
  for (const rkernel::Problem& problem : graph.problems) {
    auto draft = FunctionKernel::draft(problem, described_gpu("a100"), "ptx/test");
    if (draft) return (*std::move(draft)).without_code();
  }
  return nullptr;
}

LoweredGraph graph_of(const std::string& parameters, const std::string& statement,
                      const std::string& result) {
  return lowered(fmt::format(
      "dim A\ndim N\ndim B\ndim R\ngraph g({}, t: f32[A, N, B, R]) -> (y: {}) {{\n  {}\n  return "
      "y\n}}\n",
      parameters, result, statement));
}

LoweredGraph sum_of(const std::string& dtype, const std::string& flags) {
  const std::string type = dtype + "[A, N, B]";
  return graph_of("x: " + type, "y = cumsum(x) axis=1" + flags, type);
}

LoweredGraph elements_of(const std::string& dtype, const std::string& reduction) {
  return graph_of(fmt::format("x: {0}[A, N, B], i: i64[R, N, B], u: {0}[R, N, B]", dtype),
                  "y = scatter_elements(x, i, u) axis=1 reduction=" + reduction,
                  dtype + "[A, N, B]");
}

LoweredGraph slices_of(const std::string& dtype, const std::string& reduction) {
  return graph_of(fmt::format("x: {0}[A, N, B], i: i32[R, 2], u: {0}[R, B]", dtype),
                  "y = scatter_nd(x, i, u) reduction=" + reduction, dtype + "[A, N, B]");
}

LoweredGraph choice_of(const std::string& dtype, const std::string& flags) {
  return graph_of(fmt::format("x: {}[A, N, B]", dtype), "y, i = topk(x) k=R axis=1" + flags,
                  dtype + "[A, R, B]");
}

/// A: directions' batch, N: steps, B: the state's size.
LoweredGraph layer_of(const std::string& kind, const std::string& dtype) {
  const int gates = kind == "lstm" ? 4 : kind == "gru" ? 3 : 1;
  return graph_of(
      fmt::format(
          "x: {0}[N, A, 2 * {1} * B], w: {0}[2, B, {1} * B], b: {0}[2, {1} * B], l: i32[A], "
          "h: {0}[2, A, B]{2}",
          dtype, gates, kind == "lstm" ? fmt::format(", p: {}[2, 3 * B]", dtype) : ""),
      fmt::format("y, e{} = {}(x, w, b, l, h{}) direction=bidirectional clip=3",
                  kind == "lstm" ? ", c" : "", kind, kind == "lstm" ? ", h, p" : ""),
      dtype + "[N, 2, A, B]");
}

/// What explain() says of the class that runs the shape.
std::string chosen(const FunctionKernel& kernel, const LoweredGraph& graph, std::int64_t lines,
                   std::int64_t length, std::int64_t inner, std::int64_t results = 1) {
  const auto symbols = graph.symbols({{"A", lines}, {"N", length}, {"B", inner}, {"R", results}});
  const std::string text = kernel.explain({symbols, 1});
  const std::size_t begin = text.find(": ") + 2;
  return text.substr(begin, text.find(';') - begin);
}

}  // namespace

TEST_CASE("a GPU has kernels for the dtypes that it computes with") {
  const std::map<std::string, bool> sums{{"f32", true}, {"f16", true}, {"bf16", true},
                                         {"i32", true}, {"i64", true}, {"i16", true},
                                         {"u8", true},  {"f64", false}};
  for (const auto& [dtype, has] : sums) {
    CAPTURE(dtype);
    CHECK((kernel_of(sum_of(dtype, "")) != nullptr) == has);
    CHECK((kernel_of(elements_of(dtype, "max")) != nullptr) == has);
    CHECK(kernel_of(elements_of(dtype, "none")) != nullptr);
    CHECK(kernel_of(slices_of(dtype, "none")) != nullptr);
  }
  // Their sums are rounded once.
  CHECK(kernel_of(slices_of("f16", "add")) == nullptr);
  CHECK(kernel_of(elements_of("bf16", "mul")) == nullptr);
  CHECK(kernel_of(slices_of("f32", "mul")) != nullptr);
}

TEST_CASE("threads share a line of a sum where there are few") {
  const LoweredGraph graph = sum_of("f32", "");
  const auto kernel = kernel_of(graph);
  CHECK(chosen(*kernel, graph, 1, 5000, 1) == "a line by 256 threads");
  CHECK(chosen(*kernel, graph, 20000, 60, 1) == "a line by 32 threads");
  CHECK(chosen(*kernel, graph, 300, 16, 1000) == "a line by each thread");
  // The order of the elements decides what overflows.
  const LoweredGraph product = sum_of("f32", " product=true");
  CHECK(chosen(*kernel_of(product), product, 1, 5000, 1) == "a line by each thread");
  const LoweredGraph whole = sum_of("i64", " product=true");
  CHECK(chosen(*kernel_of(whole), whole, 1, 5000, 1) == "a line by 256 threads");
}

TEST_CASE("a warp takes the first ones of a short row, a block those of a long one") {
  const LoweredGraph graph = choice_of("f32", "");
  const auto kernel = kernel_of(graph);
  CHECK(chosen(*kernel, graph, 4096, 128, 1, 8) == "rows up to 128 by a warp");
  CHECK(chosen(*kernel, graph, 300, 256, 1, 8) == "rows up to 256 by a warp");
  CHECK(chosen(*kernel, graph, 4096, 500, 1, 5) == "rows up to 512 by a warp");
  CHECK(chosen(*kernel, graph, 4096, 1000, 1, 1000) == "a row by a block");
  CHECK(chosen(*kernel, graph, 1, 128000, 1, 50) == "a row by a block");
  for (const char* dtype : {"f64", "f16", "bf16", "u64", "i8"})
    CHECK(kernel_of(choice_of(dtype, " largest=false")) != nullptr);
}

TEST_CASE("threads have several rows of a recurrent layer's batch where there are many") {
  const LoweredGraph graph = layer_of("lstm", "f32");
  const auto kernel = kernel_of(graph);
  CHECK(chosen(*kernel, graph, 1, 100, 512) == "steps of 1 row by a group");
  CHECK(chosen(*kernel, graph, 20, 100, 128) == "steps of 1 row by a group");
  CHECK(chosen(*kernel, graph, 3000, 100, 128) == "steps of 8 rows by a group");
  const auto symbols = graph.symbols({{"A", 3}, {"N", 5}, {"B", 6}});
  // Three planes of 6 rows of 8 floats.
  CHECK(kernel->plan({symbols, 1}).shared_bytes == rkernel::counter_bytes + 3 * 6 * 8 * 4);
}

TEST_CASE("a GPU's scatter refuses more elements than its numbers hold") {
  const LoweredGraph graph = slices_of("f32", "none");
  const auto kernel = kernel_of(graph);
  const auto symbols = graph.symbols({{"A", 1 << 16}, {"N", 1 << 10}, {"B", 32}, {"R", 1}});
  CHECK_THROWS_WITH_AS(kernel->plan({symbols, 1}), doctest::Contains("scatter_nd of 2147483648"),
                       Error);
}

TEST_CASE("kernels over whole tensors assemble without spills") {
  if (dyn::test::ptxas_is_missing()) return;
  int assembled = 0;
  for (const LoweredGraph& graph :
       {sum_of("f16", " exclusive=true"), sum_of("i64", " product=true"), elements_of("f32", "add"),
        slices_of("bf16", "none"), slices_of("i64", "min"), choice_of("f32", ""),
        choice_of("i64", " largest=false"), layer_of("lstm", "f32"), layer_of("gru", "f32"),
        layer_of("rnn", "f16")}) {
    for (const rkernel::CodeListing& listing : kernel_of(graph)->listings()) {
      const dyn::test::Assembled result =
          dyn::test::assemble(listing.text, dyn::test::ptxas_gpus().front());
      INFO(listing.name << "\n" << listing.text << "\n" << result.log);
      CHECK(result.ok);
      CHECK(result.spill_bytes == 0);
      // Rows of a layer, and keys of the longest row of a warp, stay in registers.
      const auto has = [&](const char* part) {
        return listing.name.find(part) != std::string::npos;
      };
      CHECK(result.registers <= (has("by_a_group") ? 255 : has("up_to_512") ? 128 : 80));
      assembled += result.ok;
    }
  }
  CHECK(assembled == 25);
}
