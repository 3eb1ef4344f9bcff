// Results that take the memory of a residual: which do, and that no value is read after it was
// overwritten.

#include <cmath>
#include <random>

#include "dyn/dyn.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;

namespace {

constexpr std::int64_t block_width = 52;

/// Two residual blocks, where the second residual takes the first one's memory, and a residual that
/// the matmul itself reads. With `later`, the last matmul reads the first residual too.
std::string blocks(bool later) {
  return std::string(R"(dyn 1
dim M in 0..400
graph g(x: f32[M, 52], z: f32[M, 52], w0: f32[52, 52], w1: f32[52, 52], w2: f32[52, 52], w3: f32[52, 52]) -> (y: f32[M, 52]) {
  r = matmul(x, w0)
  h = relu(matmul(z, w1))
  s = relu(matmul(h, w2) + r)
  k = relu(matmul(s, w3))
  t = matmul(k, w1) + s
  u = matmul(t, w3) + t
  y = matmul(u, w0))") +
         (later ? " + r" : "") + "\n  return y\n}\n";
}

using Matrix = std::vector<double>;

Matrix product(const Matrix& a, const Matrix& b) {
  const std::size_t rows = a.size() / block_width;
  Matrix c(a.size());
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t n = 0; n < block_width; ++n)
      for (std::size_t k = 0; k < block_width; ++k)
        c[m * block_width + n] += a[m * block_width + k] * b[k * block_width + n];
  return c;
}

Matrix relu(Matrix a) {
  for (double& value : a) value = std::max(value, 0.0);
  return a;
}

Matrix sum(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

struct BlockInputs {
  std::vector<float> x, z;
  std::vector<std::vector<float>> w;
};

BlockInputs make_block_inputs(std::int64_t m) {
  std::mt19937 random(static_cast<unsigned>(m));
  std::normal_distribution<float> distribution(0, 0.3F);
  const auto filled = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = distribution(random);
    return values;
  };
  BlockInputs in{filled(m * block_width), filled(m * block_width), {}};
  for (int i = 0; i < 4; ++i) in.w.push_back(filled(block_width * block_width));
  return in;
}

Matrix expected(const BlockInputs& in, bool later) {
  const auto wide = [](const std::vector<float>& values) {
    return Matrix(values.begin(), values.end());
  };
  const Matrix r = product(wide(in.x), wide(in.w[0]));
  const Matrix s = relu(sum(product(relu(product(wide(in.z), wide(in.w[1]))), wide(in.w[2])), r));
  const Matrix t = sum(product(relu(product(s, wide(in.w[3]))), wide(in.w[1])), s);
  const Matrix u = sum(product(t, wide(in.w[3])), t);
  const Matrix y = product(u, wide(in.w[0]));
  return later ? sum(y, r) : y;
}

void check_blocks(const Graph& graph, std::int64_t m, bool later) {
  CAPTURE(m);
  const BlockInputs in = make_block_inputs(m);
  const auto weight = [&](std::size_t i) {
    return Tensor::view(in.w[i].data(), {block_width, block_width});
  };
  const auto outputs = graph.run({{"x", Tensor::view(in.x.data(), {m, block_width})},
                                  {"z", Tensor::view(in.z.data(), {m, block_width})},
                                  {"w0", weight(0)},
                                  {"w1", weight(1)},
                                  {"w2", weight(2)},
                                  {"w3", weight(3)}});
  const std::span<const float> got = outputs["y"].data<float>();
  const Matrix wanted = expected(in, later);
  REQUIRE(got.size() == wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    worst = std::max(
        worst, std::isnan(got[i]) ? 1 : std::fabs(got[i] - wanted[i]) / (1 + std::fabs(wanted[i])));
  CHECK(worst < 1e-4);
}

/// Counts the tensors of M rows that the arena holds.
std::size_t tensors_in_arena(const std::string& text, std::int64_t m) {
  runtime::LoadRequest request;
  request.text = text;
  const auto model = runtime::Model::load(request, dyn::testing::uncached());
  const auto plan = model->plan(std::vector{m});
  return plan->arena_bytes / static_cast<std::size_t>(m * block_width * 4);
}

}  // namespace

TEST_CASE(
    "a result takes the memory of a residual that nothing reads later, and chains of them stay "
    "right") {
  for (const bool later : {false, true}) {
    CAPTURE(later);
    for (const int threads : {1, 3}) {
      const Graph graph = Graph::from_text(blocks(later), dyn::testing::uncached(threads));
      for (const std::int64_t m : {0, 1, 7, 64, 399}) check_blocks(graph, m, later);
    }
  }
}

TEST_CASE("residuals that are read later keep their memory") {
  // r, h and s: with the residual in place s is r, and beside it lies h, then k.
  CHECK(tensors_in_arena(blocks(false), 320) == 2);
  CHECK(tensors_in_arena(blocks(true), 320) == 3);
}
