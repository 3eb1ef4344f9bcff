// A small random decoder with a KV cache, step by step, against the same decoder without one, in
// float64.

#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/session.hpp"
#include "graph/text/text.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/encoder.hpp"

namespace dyn::testing {
namespace {

constexpr std::int64_t words = 50, width = 48, heads = 3, head = 16, capacity = 40;

/// Layer 0 has one projection for queries, keys and values and keeps heads apart; layer 1 has three
/// and keeps them side by side.
std::string decoder_text(bool cached) {
  std::string text = "dyn 1\ndim B in 1..4\ndim S in 1..64\n";
  if (cached) {
    text +=
        "dim P in 0..64\ndim C in 1..64\nstate l0.k: f32[B, 3, C, 16]\nstate l0.v: f32[B, 3, C, "
        "16]\nstate l1.k: f32[B, C, 48]\n"
        "state l1.v: f32[B, C, 48]\n";
  }
  text +=
      "weights \"decoder.safetensors\"\ngraph decoder(ids: i64[B, S]) -> (logits: f32[B, S, 50]) "
      "{\n";
  const auto place = cached ? "starts=[P] ends=[P + S]" : "starts=[0] ends=[S]";
  const auto split_heads = [](const std::string& x, const char* length) {
    return fmt::format("transpose(reshape({}) shape=[B, {}, 3, 16]) perm=[0, 2, 1, 3]", x, length);
  };
  const auto end_of_layer = [&](int i) {
    text += fmt::format(
        "  y{0} = x{0} + matmul(reshape(transpose(a{0}) perm=[0, 2, 1, 3]) shape=[B, S, 48], "
        "l{0}.o: f32[48, 48])\n",
        i);
    text += fmt::format(
        "  x{1} = y{0} + matmul(gelu(matmul(y{0}, l{0}.up: f32[48, 96]) + l{0}.up_bias: f32[96]), "
        "l{0}.down: f32[96, 48])\n",
        i, i + 1);
  };
  text += fmt::format(
      "  x0 = gather(table: f32[50, 48], ids) + slice(places: f32[64, 48]) axes=[0] {}\n", place);
  text +=
      "  q0, k0, v0 = split(matmul(x0, l0.qkv: f32[48, 144]) + l0.bias: f32[144]) axis=2 "
      "sizes=[48, 48, 48]\n";
  text += fmt::format("  k0h = {}\n  v0h = {}\n", split_heads("k0", "S"), split_heads("v0", "S"));
  for (const char part : {'k', 'v'}) {
    text +=
        cached
            ? fmt::format(
                  "  {0}0a = slice(append(l0.{0}, {0}0h) at=P) axes=[2] starts=[0] ends=[P + S]\n",
                  part)
            : fmt::format("  {0}0a = {0}0h\n", part);
  }
  text += fmt::format("  a0 = attention({}, k0a, v0a) causal=true\n", split_heads("q0", "S"));
  end_of_layer(0);
  text += "  q1 = matmul(x1, l1.q: f32[48, 48])\n";
  for (const char part : {'k', 'v'}) {
    text += fmt::format("  {0}1 = matmul(x1, l1.{0}_weight: f32[48, 48]) + l1.{0}_bias: f32[48]\n",
                        part);
    text += cached ? fmt::format(
                         "  {0}1a = slice(append(l1.{0}, {0}1) at=P axis=1) axes=[1] starts=[0] "
                         "ends=[P + S]\n",
                         part)
                   : fmt::format("  {0}1a = {0}1\n", part);
  }
  const char* const length = cached ? "P + S" : "S";
  text += fmt::format("  a1 = attention({}, {}, {}) causal=true\n", split_heads("q1", "S"),
                      split_heads("k1a", length), split_heads("v1a", length));
  end_of_layer(1);
  return text + "  return matmul(x2, table) transpose_b=true\n}\n";
}

class Decoder {
 public:
  explicit Decoder(const char* test)
      : random_(test),
        module_(graph::parse(decoder_text(false))),
        weights_(module_, random_),
        graph_(Graph::from_memory(decoder_text(true), {{"decoder.safetensors", weights_.file()}},
                                  test_options())) {}

  const Graph& graph() const { return graph_; }
  Random& random() { return random_; }

  Tensor make_ids(std::int64_t batch, std::int64_t length) {
    Tensor ids(DType::i64, {batch, length});
    fill(ids, uniform(0, words - 1), random_);
    return ids;
  }

  /// All logits of the decoder without cache.
  reference::Array expect(const Tensor& ids) const {
    const auto symbols =
        reference::bind_symbols(module_, std::vector<std::vector<std::int64_t>>{ids.shape()});
    return reference::run(
        module_, symbols, {reference::from_tensor(ids)},
        [&](graph::ValueId id) { return weights_(id); }, reference::Precision::f64)[0];
  }

 private:
  Random random_;
  graph::Module module_;
  RandomWeights weights_;
  Graph graph_;
};

/// Columns [first, first + count) of ids: [B, length].
Tensor columns(const Tensor& ids, std::int64_t first, std::int64_t count) {
  const std::int64_t batch = ids.shape()[0], length = ids.shape()[1];
  Tensor part(DType::i64, {batch, count});
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t s = 0; s < count; ++s) {
      part.mutable_data<std::int64_t>()[static_cast<std::size_t>(b * count + s)] =
          ids.data<std::int64_t>()[static_cast<std::size_t>(b * length + first + s)];
    }
  }
  return part;
}

/// The largest difference of `logits`, for positions from `first` on, relative to the largest of
/// `expected`.
double difference_at(const Tensor& logits, const reference::Array& expected, std::int64_t first) {
  const std::int64_t batch = logits.shape()[0], count = logits.shape()[1],
                     length = expected.dims[1];
  double worst = 0, largest = 0;
  for (const double value : expected.floats) largest = std::max(largest, std::fabs(value));
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < count * words; ++i) {
      const double is = static_cast<double>(
          logits.data<float>()[static_cast<std::size_t>(b * count * words + i)]);
      const double should =
          expected.floats[static_cast<std::size_t>((b * length + first) * words + i)];
      if (!(std::fabs(is - should) <= worst)) worst = std::fabs(is - should);
    }
  }
  return worst / largest;
}

constexpr double bound = 1e-5;

TEST_CASE("a decoder with a cache gives in steps of any sizes what it gives without") {
  Decoder decoder("decoder steps");
  for (int round = 0; round < 12; ++round) {
    const std::int64_t batch = decoder.random().integer(1, 4),
                       length = decoder.random().integer(1, capacity);
    const Tensor ids = decoder.make_ids(batch, length);
    const reference::Array expected = decoder.expect(ids);
    Session session(decoder.graph(),
                    {{"B", batch}, {"C", decoder.random().integer(length, capacity)}});
    while (session.length() < length) {
      const std::int64_t first = session.length(), left = length - first;
      const std::int64_t step =
          decoder.random().chance(0.5) ? 1 : decoder.random().integer(1, left);
      const Outputs outputs = session.run({{"ids", columns(ids, first, step)}});
      CAPTURE(batch);
      CAPTURE(first);
      CAPTURE(step);
      CHECK(difference_at(outputs["logits"], expected, first) < bound);
    }
  }
  CHECK(decoder.graph().kernels_compiled_since_load() == 0);
}

TEST_CASE("a decoder goes on from where it was truncated") {
  Decoder decoder("decoder truncation");
  const std::int64_t batch = 2, length = 17, kept = 6;
  const Tensor first = decoder.make_ids(batch, length), second = decoder.make_ids(batch, length);
  Session session(decoder.graph(), {{"B", batch}, {"C", capacity}});
  session.run({{"ids", first}});
  session.truncate(kept);
  const Outputs rest = session.run({{"ids", columns(second, kept, length - kept)}});
  Tensor mixed = columns(second, 0, length);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t s = 0; s < kept; ++s) {
      const auto at = static_cast<std::size_t>(b * length + s);
      mixed.mutable_data<std::int64_t>()[at] = first.data<std::int64_t>()[at];
    }
  }
  CHECK(difference_at(rest["logits"], decoder.expect(mixed), kept) < bound);
  session.reset();
  CHECK(difference_at(session.run({{"ids", second}})["logits"], decoder.expect(second), 0) < bound);
}

}  // namespace
}  // namespace dyn::testing
