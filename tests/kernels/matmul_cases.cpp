// matmul: edges of tiles, both transposes, batches, and operators that fuse around it; attention.

#include "tests/kernels/cases.hpp"

namespace dyn::testing {
namespace {

using Scale = Tolerance::Scale;

/// |err| <= c * K * eps * (|A||B|): Higham's bound for any order of summation, with c = 1 and room
/// for the ends.
const Tolerance by_k{Scale::Absolute, 2, "K"};

/// None, one, primes, around the widths and heights of tiles, thin and long.
const std::vector<Sizes> edges = {
    {{"M", 0}, {"N", 5}, {"K", 3}},     {{"M", 5}, {"N", 0}, {"K", 3}},
    {{"M", 5}, {"N", 3}, {"K", 0}},     {{"M", 1}, {"N", 1}, {"K", 1}},
    {{"M", 1}, {"N", 1}, {"K", 1009}},  {{"M", 1}, {"N", 1009}, {"K", 1}},
    {{"M", 1009}, {"N", 1}, {"K", 1}},  {{"M", 7}, {"N", 13}, {"K", 11}},
    {{"M", 3}, {"N", 17}, {"K", 129}},  {{"M", 31}, {"N", 33}, {"K", 65}},
    {{"M", 64}, {"N", 64}, {"K", 64}},  {{"M", 65}, {"N", 63}, {"K", 127}},
    {{"M", 1}, {"N", 768}, {"K", 768}}, {{"M", 13}, {"N", 96}, {"K", 700}},
    {{"M", 257}, {"N", 31}, {"K", 40}}, {{"M", 128}, {"N", 256}, {"K", 300}},
    {{"M", 2000}, {"N", 3}, {"K", 9}},  {{"M", 3}, {"N", 2000}, {"K", 9}},
    {{"M", 5}, {"N", 7}, {"K", 5000}},
};

std::vector<Sizes> every_small_size() {
  return product_of({{"M", {1, 2, 4, 5, 6, 8, 12, 14}},
                     {"N", {1, 2, 8, 15, 16, 17, 32, 48, 50}},
                     {"K", {1, 2, 7, 16}}});
}

}  // namespace

std::vector<Case> matmul_cases() {
  std::vector<Case> cases;
  cases.push_back({"r = matmul(a, b)", "a: f32[M, K], b: f32[K, N]", "r: f32[M, N]", edges, by_k});
  cases.push_back(
      {"r = matmul(a, b)", "a: f32[M, K], b: f32[K, N]", "r: f32[M, N]", every_small_size(), by_k});
  cases.push_back({"r = matmul(a, b) transpose_b=true", "a: f32[M, K], b: f32[N, K]",
                   "r: f32[M, N]", edges, by_k});
  cases.push_back({"r = matmul(a, b) transpose_a=true", "a: f32[K, M], b: f32[K, N]",
                   "r: f32[M, N]", edges, by_k});
  cases.push_back({"r = matmul(a, b) transpose_a=true transpose_b=true",
                   "a: f32[K, M], b: f32[N, K]", "r: f32[M, N]", edges, by_k});
  cases.push_back(
      {"r = matmul(a, b)", "a: f32[3, M, K], b: f32[3, K, N]", "r: f32[3, M, N]", edges, by_k});
  cases.push_back({"r = matmul(a, b)",
                   "a: f32[2, 1, M, K], b: f32[3, K, N]",
                   "r: f32[2, 3, M, N]",
                   {{{"M", 5}, {"N", 18}, {"K", 33}},
                    {{"M", 1}, {"N", 1}, {"K", 0}},
                    {{"M", 40}, {"N", 7}, {"K", 9}}},
                   by_k});
  cases.push_back({"r = matmul(a, b)",
                   "a: f32[A, M, K], b: f32[K, N]",
                   "r: f32[A, M, N]",
                   {{{"A", 0}, {"M", 5}, {"N", 18}, {"K", 33}},
                    {{"A", 4}, {"M", 1}, {"N", 20}, {"K", 7}},
                    {{"A", 3}, {"M", 40}, {"N", 7}, {"K", 9}}},
                   by_k});
  cases.push_back({"r = relu(matmul(a, b) * 0.5 + c) + d",
                   "a: f32[M, K], b: f32[K, N], c: f32[N], d: f32[M, N]", "r: f32[M, N]", edges,
                   by_k});
  cases.push_back(
      {"r = matmul(transpose(reshape(a) shape=[M, 2, K]) perm=[1, 0, 2], b) transpose_b=true",
       "a: f32[M, 2 * K], b: f32[2, N, K]",
       "r: f32[2, M, N]",
       {{{"M", 5}, {"N", 18}, {"K", 33}},
        {{"M", 1}, {"N", 1}, {"K", 4}},
        {{"M", 67}, {"N", 64}, {"K", 24}}},
       by_k});
  cases.push_back({"r = matmul(a, a) transpose_b=true",
                   "a: f32[M, K]",
                   "r: f32[M, M]",
                   {{{"M", 0}, {"K", 4}}, {{"M", 1}, {"K", 4}}, {{"M", 37}, {"K", 19}}},
                   by_k});
  // One NaN or infinity in A may touch its row only.
  cases.push_back({"r = matmul(a, b)",
                   "a: f32[M, K], b: f32[K, N]",
                   "r: f32[M, N]",
                   {{{"M", 9}, {"N", 18}, {"K", 2}}, {{"M", 40}, {"N", 33}, {"K", 7}}},
                   by_k,
                   {non_finite_fill}});
  // Where a product overflows, a sum in f32 may differ from one in float64 altogether; with one
  // product there is no sum.
  cases.push_back({"r = matmul(a, b)",
                   "a: f32[M, K], b: f32[K, N]",
                   "r: f32[M, N]",
                   {{{"M", 33}, {"N", 5}, {"K", 1}}},
                   by_k,
                   {special_fill}});
  return cases;
}

std::vector<Case> attention_cases() {
  const auto shapes = product_of({{"B", {1, 2}}, {"H", {1, 3}}, {"S", {0, 1, 5, 17, 64, 130}}});
  const std::vector<Sizes> longer_keys = {{{"B", 1}, {"H", 2}, {"S", 3}, {"T", 9}},
                                          {{"B", 2}, {"H", 1}, {"S", 1}, {"T", 40}},
                                          {{"B", 1}, {"H", 3}, {"S", 16}, {"T", 16}},
                                          {{"B", 1}, {"H", 1}, {"S", 33}, {"T", 70}}};
  const Tolerance tolerance{Scale::Largest, 64};
  const char* qkv = "q: f32[B, H, S, 24], k: f32[B, H, S, 24], v: f32[B, H, S, 24]";
  const std::string long_keys = "q: f32[B, H, S, 8], k: f32[B, H, T, 8], v: f32[B, H, T, 20]";
  return {
      {"r = attention(q, k, v)", qkv, "r: f32[B, H, S, 24]", shapes, tolerance},
      {"r = attention(q, k, v) causal=true", qkv, "r: f32[B, H, S, 24]", shapes, tolerance},
      {"r = attention(q, k, v) scale=0.3", qkv, "r: f32[B, H, S, 24]", shapes, tolerance},
      {"r = attention(q, k, v, 0.5)", qkv, "r: f32[B, H, S, 24]", shapes, tolerance},
      {"r = attention(q, k, v, m)", std::string(qkv) + ", m: f32[B, 1, 1, S]",
       "r: f32[B, H, S, 24]", shapes, tolerance},
      {"r = attention(q, k, v, m)", std::string(qkv) + ", m: f32[S, S]", "r: f32[B, H, S, 24]",
       shapes, tolerance},
      {"r = attention(q, k, v)", long_keys, "r: f32[B, H, S, 20]", longer_keys, tolerance},
      {"r = attention(q, k, v) causal=true", long_keys, "r: f32[B, H, S, 20]", longer_keys,
       tolerance},
      {"r = attention(q, k, v, m) causal=true", long_keys + ", m: f32[B, H, S, T]",
       "r: f32[B, H, S, 20]", longer_keys, tolerance},
  };
}

}  // namespace dyn::testing
