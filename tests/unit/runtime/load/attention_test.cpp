// The memory that attention needs on the CPU.

#include <algorithm>

#include <fmt/format.h>

#include "src/runtime/load/model.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;

namespace {

const char* const one_layer = R"(dyn 1
dim B in 1..8
dim S in 1..65536
weight wq: f32[96, 96] = random 1
weight wk: f32[96, 96] = random 2
weight wv: f32[96, 96] = random 3
weight wo: f32[96, 96] = random 4
graph g(x: f32[B, S, 96], mask: f32[B, 1, 1, S]) -> (y: f32[B, S, 96]) {
  q = transpose(reshape(matmul(x, wq)) shape=[B, S, 3, 32]) perm=[0, 2, 1, 3]
  k = transpose(reshape(matmul(x, wk)) shape=[B, S, 3, 32]) perm=[0, 2, 1, 3]
  v = transpose(reshape(matmul(x, wv)) shape=[B, S, 3, 32]) perm=[0, 2, 1, 3]
  a = attention(q, k, v, mask) causal=true
  y = matmul(reshape(transpose(a) perm=[0, 2, 1, 3]) shape=[B, S, 96], wo)
  return y
}
)";

std::shared_ptr<const Model> load_attention(int threads) {
  LoadRequest request;
  request.text = one_layer;
  Options options;
  options.threads = threads;
  return Model::load(request, options);
}

}  // namespace

TEST_CASE("attention needs no tensor of queries times keys, and no copy of its operands") {
  constexpr std::size_t float_bytes = 4, width = 96, operands = 6;
  for (const int threads : {1, 2}) {
    const auto model = load_attention(threads);
    CHECK(std::ranges::count_if(model->fusion().groups, [](const auto& group) {
            return group.backbone == graph::Backbone::Attention;
          }) == 1);
    CHECK(std::ranges::none_of(model->fusion().groups, [](const auto& group) {
      return group.backbone == graph::Backbone::Copy;
    }));
    for (const std::int64_t length : {1, 512, 8192}) {
      CAPTURE(length);
      const auto plan = model->plan(model->bind_dims({{"B", 2}, {"S", length}}));
      const std::size_t tokens = 2 * static_cast<std::size_t>(length);
      CHECK(plan->arena_bytes <= operands * tokens * width * float_bytes + 4096);
      constexpr std::size_t block_bytes = std::size_t{4} << 20;
      CHECK(plan->scratch_bytes <= block_bytes + 4 * tokens * width * float_bytes);
      CHECK(plan->shared_bytes <= 16 * (tokens + 1) * width * float_bytes);
    }
  }
}
