#include "src/aot/layers.hpp"

#include <fmt/format.h>

#include <span>
#include <string_view>

namespace dyn::aot {
namespace {

/// A product of x and weights of {N} columns; `x`, `result`: their shapes.
struct Product {
  const char* x;
  const char* expression;
  const char* result;
};

// Sizes decide no code, but for these: a window's channels, whether they fill whole vectors, and
// how many columns there are.
constexpr Product products[] = {
    {"M, 256", "matmul(x, w: f32[256, {N}])", "M, {N}"},
    {"M, H, 256", "matmul(x, w: f32[256, {N}])", "M, H, {N}"},
    {"M, H, 24", "conv(x, w: f32[3, 24, {N}]) before=[1] after=[1]", "M, H, {N}"},
    {"M, H, W, 24", "conv(x, w: f32[3, 3, 24, {N}]) before=[1, 1] after=[1, 1]", "M, H, W, {N}"},
    {"M, H, W, 3", "conv(x, w: f32[3, 3, 3, {N}]) before=[1, 1] after=[1, 1]", "M, H, W, {N}"},
};

/// Statements behind a product p of {N} columns.
constexpr std::string_view followers[] = {
    "  y = p\n",
    "  y = p + b: f32[{N}]\n",
    "  y = relu(p + b: f32[{N}])\n",
    "  y = sigmoid(p + b: f32[{N}])\n",
    "  y = tanh(p + b: f32[{N}])\n",
    "  y = gelu(p + b: f32[{N}])\n",
    "  t = p + b: f32[{N}]\n  y = t * sigmoid(t)\n",
    "  y = b: f32[{N}] + p\n",
    "  y = relu(b: f32[{N}] + p)\n",
    "  y = sigmoid(b: f32[{N}] + p)\n",
    "  t = b: f32[{N}] + p\n  y = t * sigmoid(t)\n",
    "  t = p + b: f32[{N}]\n  y = t * minimum(maximum(t * 0.16666666666666666 + 0.5, 0.0), 1.0)\n",
    "  y = minimum(maximum((p + b: f32[{N}]) * 0.1666666716337204 + 0.5, 0.0), 1.0)\n",
    "  y = minimum(maximum((p + b: f32[{N}]) * 0.20000000298023224 + 0.5, 0.0), 1.0)\n",
    "  t = p + b: f32[{N}]\n  y = t * (erf(t / 1.4142135381698608) + 1.0) * 0.5\n",
    "  t = b: f32[{N}] + p\n  y = t * (erf(t / 1.4142135381698608) + 1.0) * 0.5\n",
    "  y = p * s: f32[{N}] + b: f32[{N}]\n",
    "  y = relu(p * s: f32[{N}] + b: f32[{N}])\n",
    ("  t = p * s: f32[{N}] + b: f32[{N}]\n"
     "  y = t * minimum(maximum(t * 0.16666666666666666 + 0.5, 0.0), 1.0)\n"),
};

/// The same with r, an input of the result's shape.
constexpr std::string_view residuals[] = {
    "  y = p + b: f32[{N}] + r\n",
    "  y = r + (p + b: f32[{N}])\n",
    "  y = relu(p + b: f32[{N}] + r)\n",
};

/// A panel, a vector, both, a part of a vector, and few.
constexpr int columns[] = {64, 16, 48, 40, 8, 4, 1};

/// Other products: arguments, expression, the result's shape. Their code depends on what lies
/// together.
constexpr Product others[] = {
    {"x: f32[M, H, W, 64], z: f32[M, H, 64, N]", "matmul(x, z)", "M, H, W, N"},
    {"x: f32[M, H, W, 64], z: f32[M, H, N, 64]", "matmul(x, z) transpose_b=true", "M, H, W, N"},
    {"x: f32[M, W, 64], z: f32[M, 64, N]", "matmul(x, z)", "M, W, N"},
    {"x: f32[M, W, 64], z: f32[M, N, 64]", "matmul(x, z) transpose_b=true", "M, W, N"},
    {"x: f32[M, W, H, 64], z: f32[M, N, H, 64]",
     "matmul(transpose(x) perm=[0, 2, 1, 3], transpose(z) perm=[0, 2, 3, 1])", "M, H, W, N"},
    {"x: f32[M, H, W, N], z: f32[M, N, H, 64]",
     "transpose(matmul(x, transpose(z) perm=[0, 2, 1, 3])) perm=[0, 2, 1, 3]", "M, W, H, 64"},
    {"x: f32[256, M]", "matmul(transpose(x) perm=[1, 0], w: f32[256, 64]) + b: f32[64]", "M, 64"},
    {"x: f32[M, 256, W]", "matmul(transpose(x) perm=[0, 2, 1], w: f32[256, 64]) + b: f32[64]",
     "M, W, 64"},
    {"x: f32[M, 256]", "matmul(x, w: f32[1, 256]) transpose_b=true", "M, 1"},
    {"x: f32[M, 256]", "matmul(x, w: f32[1, 256]) transpose_b=true + b: f32[1]", "M, 1"},
    {"x: f32[M, 256]", "sigmoid(matmul(x, w: f32[1, 256]) transpose_b=true + b: f32[1])", "M, 1"},
    {"x: f32[M, 256]", "silu(matmul(x, w: f32[256, 64])) * matmul(x, v: f32[256, 64])", "M, 64"},
    {"x: f32[M, H, 24]",
     "conv(x, w: f32[3, 24, 64]) dilations=[2] before=[2] after=[2] + b: f32[64]", "M, H, 64"},
    {"x: f32[M, H, W, 24]", "conv(x, w: f32[1, 1, 24, 64]) strides=[2, 2] + b: f32[64]",
     "M, floordiv(H - 1, 2) + 1, floordiv(W - 1, 2) + 1, 64"},
    {"x: f32[M, H, W, 1]", "conv(x, w: f32[3, 3, 1, 64]) before=[1, 1] after=[1, 1] + b: f32[64]",
     "M, H, W, 64"},
    {"x: f32[M, H, W, 3]", "conv(x, w: f32[7, 7, 3, 64]) before=[3, 3] after=[3, 3] + b: f32[64]",
     "M, H, W, 64"},
    {"x: f32[M, W, 256]", "matmul(transpose(x) perm=[1, 0, 2], w: f32[256, 64]) + b: f32[64]",
     "W, M, 64"},
    {"x: f32[M, W, 256]", "matmul(transpose(x) perm=[1, 0, 2], w: f32[256, 48]) + b: f32[48]",
     "W, M, 48"},
    {"x: f32[M, W, 256]", "transpose(matmul(x, w: f32[256, 64]) + b: f32[64]) perm=[1, 0, 2]",
     "W, M, 64"},
};

/// Loops: arguments, expression, the result's shape.
constexpr Product loops[] = {
    {"x: f32[M]", "reshape(x) shape=[M, 1]", "M, 1"},
    {"x: f32[M]", "relu(x)", "M"},
    {"x: f32[M]", "sigmoid(x)", "M"},
    {"x: f32[M]", "tanh(x)", "M"},
    {"x: f32[M]", "exp(x)", "M"},
    {"x: f32[M]", "gelu(x)", "M"},
    {"x: f32[M]", "x * sigmoid(x)", "M"},
    {"x: f32[M], z: f32[M]", "x + z", "M"},
    {"x: f32[M], z: f32[M]", "x * z", "M"},
    {"x: f32[M], z: f32[M]", "x - z", "M"},
    {"x: f32[M], z: f32[M]", "relu(x + z)", "M"},
    {"x: f32[M, 64]", "x + b: f32[64]", "M, 64"},
    {"x: f32[M, N, 64]", "x + b: f32[64]", "M, N, 64"},
    {"x: f32[M, N], z: f32[M, 1]", "x * z", "M, N"},
    {"x: f32[M, N]", "softmax(x)", "M, N"},
    {"x: f32[M, N, W]", "softmax(x)", "M, N, W"},
    {"x: f32[M, L]", "softmax(x)", "M, L"},
    {"x: f32[M, 2]", "softmax(x)", "M, 2"},
    {"x: f32[M, 3]", "softmax(x)", "M, 3"},
    {"x: f32[M, 4]", "softmax(x)", "M, 4"},
    {"x: f32[M, 64]", "softmax(x)", "M, 64"},
    {"x: f32[M, 64]", "layer_norm(x, s: f32[64], b: f32[64])", "M, 64"},
    {"x: f32[M, N, 64]", "layer_norm(x, s: f32[64], b: f32[64])", "M, N, 64"},
    {"x: f32[M, 64], z: f32[M, 64]", "layer_norm(x + z, s: f32[64], b: f32[64])", "M, 64"},
    {"x: f32[M, N]", "transpose(x) perm=[1, 0]", "N, M"},
    {"x: f32[M, N, W]", "transpose(x) perm=[0, 2, 1]", "M, W, N"},
    {"x: f32[M, 3, N, W]", "transpose(x) perm=[0, 2, 3, 1]", "M, N, W, 3"},
    {"x: f32[1, 3, N, W]", "transpose(x) perm=[0, 2, 3, 1]", "1, N, W, 3"},
    {"x: f32[M, N, 3]", "transpose(x) perm=[0, 2, 1]", "M, 3, N"},
    {"x: f32[M, N, 2]", "transpose(x) perm=[0, 2, 1]", "M, 2, N"},
    {"x: f32[M, 64]",
     "reshape(transpose(reshape(x) shape=[M, 2, 32]) perm=[0, 2, 1]) shape=[M, 64]", "M, 64"},
    {"x: f32[M, 64, N, W]", "transpose(x) perm=[0, 2, 3, 1]", "M, N, W, 64"},
    {"x: f32[M, N, W, 64]", "transpose(x) perm=[0, 3, 1, 2]", "M, 64, N, W"},
    {"x: f32[M, N, H, 64]", "transpose(x) perm=[0, 2, 1, 3]", "M, H, N, 64"},
    {"x: f32[M, N, W, 64]", "reduce_mean(x) axes=[1, 2]", "M, 1, 1, 64"},
    {"x: f32[M, N, 64]", "reduce_mean(x) axes=[1]", "M, 1, 64"},
    {"x: f32[M, 7, 64]", "reduce_mean(x) axes=[1]", "M, 1, 64"},
    {"x: f32[M, 7, 64]", "reduce_max(x) axes=[1]", "M, 1, 64"},
    {"x: f32[M, N]", "reduce_sum(x) axes=[1]", "M, 1"},
    {"x: f32[M, N]", "reduce_max(x) axes=[1]", "M, 1"},
    {"x: f32[M, N, W, 64], z: f32[M, 1, 1, 64]", "x * z", "M, N, W, 64"},
    {"x: f32[M, N, W, 64]", "max_pool(x) sizes=[2, 2] strides=[2, 2]",
     "M, floordiv(N, 2), floordiv(W, 2), 64"},
    {"x: f32[M, N, W, 32]", "max_pool(x) sizes=[2, 2] strides=[2, 2]",
     "M, floordiv(N, 2), floordiv(W, 2), 32"},
    {"x: f32[1, N, W, 64]", "max_pool(x) sizes=[2, 2] strides=[2, 2]",
     "1, floordiv(N, 2), floordiv(W, 2), 64"},
    {"x: f32[1, N, W, 32]", "max_pool(x) sizes=[2, 2] strides=[2, 2]",
     "1, floordiv(N, 2), floordiv(W, 2), 32"},
    {"x: f32[M, N, 64]", "reduce_max(x) axes=[1]", "M, 1, 64"},
    {"x: f32[N, 64]", "reduce_max(x) axes=[0]", "1, 64"},
    {"x: f32[N, 64]", "reduce_mean(x) axes=[0]", "1, 64"},
    {"x: f32[M, N, W, 64]", "max_pool(x) sizes=[3, 3] strides=[2, 2] before=[1, 1] after=[1, 1]",
     "M, floordiv(N - 1, 2) + 1, floordiv(W - 1, 2) + 1, 64"},
    {"x: f32[M, N, 64]", "slice(x) axes=[2] starts=[0] ends=[32]", "M, N, 32"},
    {"x: f32[M, 64]", "slice(x) axes=[1] starts=[0] ends=[32]", "M, 32"},
    {"x: f32[M, 64]", "sigmoid(slice(x) axes=[1] starts=[0] ends=[32])", "M, 32"},
    {"x: f32[M, 64]", "tanh(slice(x) axes=[1] starts=[0] ends=[32])", "M, 32"},
    {"x: f32[M, 64], z: f32[N]", "expand(reshape(x) shape=[M, 1, 64]) shape=[M, N, 64]",
     "M, N, 64"},
    {"x: f32[M]", "expand(0.0) shape=[M]", "M"},
    {"x: f32[M, N], z: f32[M, W]", "concat(x, z) axis=1", "M, N + W"},
    {"x: f32[M, N], z: f32[M, W], v: f32[M, H]", "concat(x, z, v) axis=1", "M, N + W + H"},
    {"x: f32[M, 64], z: f32[M, 32]", "concat(x, z) axis=1", "M, 96"},
    {"x: f32[M, 64], z: f32[M, 32], v: f32[M, 32]", "concat(x, z, v) axis=1", "M, 128"},
    {"x: f32[M, 64], z: f32[M, 32], v: f32[M, 32], u: f32[M, 32]", "concat(x, z, v, u) axis=1",
     "M, 160"},
    {"x: i64[M, N]", "gather(w: f32[1000, 64], x) axis=0", "M, N, 64"},
};

std::string text_of(std::string_view inputs, std::string_view result, std::string_view body) {
  return fmt::format(
      "dyn 1\ndim M in 1..65536\ndim N in 1..4096\ndim H in 1..4096\ndim W in 1..4096\ndim L\n"
      "graph layer({}) -> (y: f32[{}]) {{\n{}  return y\n}}\n",
      inputs, result, body);
}

/// A recurrent layer as importers write it, over the inputs' share of its gates.
struct Recurrent {
  const char* kind;
  int gates;
  const char* attributes;
};
constexpr Recurrent recurrent[] = {
    {"lstm", 4, ""}, {"gru", 3, " linear_before_reset=true"}, {"gru", 3, ""}};

// `given`: the first states are inputs, else 0; `batch`: a dim or 1; `hidden`: the states, which
// fill panels or do not.
std::string text_of(const Recurrent& layer, bool both_directions, bool given,
                    std::string_view batch, int hidden) {
  const int directions = both_directions ? 2 : 1, columns = layer.gates * hidden;
  const bool lstm = layer.gates == 4;
  const std::string state = fmt::format("{}, {}, {}", directions, batch, hidden);
  std::string inputs = fmt::format("x: f32[M, {}, {}]", batch, directions * columns);
  std::string body = fmt::format(
      "  b = slice(bias: f32[{0}, {1}]) axes=[1] starts=[{2}] ends=[{1}]\n"
      "  end = range() start=M end=(M + 1) dtype=i32\n  lengths = expand(end) shape=[{3}]\n",
      directions, 2 * columns, columns, batch);
  if (given) {
    inputs += fmt::format(", h: f32[{0}], c: f32[{0}]", state);
  } else {
    body += fmt::format("  h = expand(0.0) shape=[{0}]\n  c = expand(0.0) shape=[{0}]\n", state);
  }
  body += fmt::format("  p = expand(0.0) shape=[{}, {}]\n", directions, 3 * hidden);
  body += fmt::format("  y, last{} = {}(x, r: f32[{}, {}, {}], b, lengths, h{}){}{}\n",
                      lstm ? ", cell" : "", layer.kind, directions, hidden, columns,
                      lstm ? ", c, p" : "", both_directions ? " direction=bidirectional" : "",
                      layer.attributes);
  const std::string results =
      fmt::format("y: f32[M, {}, {}, {}], last: f32[{}]{}", directions, batch, hidden, state,
                  lstm ? fmt::format(", cell: f32[{}]", state) : "");
  return fmt::format(
      "dyn 1\ndim M in 1..65536\ndim N in 1..4096\ngraph layer({}) -> ({}) {{\n{}  return y, "
      "last{}\n}}\n",
      inputs, results, body, lstm ? ", cell" : "");
}

std::string with_columns(std::string_view text, int count) {
  std::string result(text);
  const std::string number = std::to_string(count);
  for (std::size_t at = 0; (at = result.find("{N}", at)) != std::string::npos;)
    result.replace(at, 3, number);
  return result;
}

// With each number of columns. `adds`: the follower reads r.
void add(const Product& product, std::string_view follower, bool adds,
         std::vector<std::string>& texts) {
  for (const int count : columns) {
    const std::string result = with_columns(product.result, count);
    std::string inputs = fmt::format("x: f32[{}]", product.x);
    if (adds) inputs += fmt::format(", r: f32[{}]", result);
    texts.push_back(
        text_of(inputs, result,
                with_columns(fmt::format("  p = {}\n{}", product.expression, follower), count)));
  }
}

}  // namespace

std::vector<std::string> plain_layers() {
  std::vector<std::string> texts;
  for (const Product& product : products) {
    for (const std::string_view follower : {followers[0], followers[1]})
      add(product, follower, false, texts);
  }
  return texts;
}

std::vector<std::string> common_layers() {
  std::vector<std::string> texts;
  for (const Product& product : products) {
    for (const std::string_view follower : followers) add(product, follower, false, texts);
    for (const std::string_view follower : residuals) add(product, follower, true, texts);
  }
  for (const Recurrent& layer : recurrent) {
    for (const bool both_directions : {false, true}) {
      for (const bool given : {true, false}) {
        for (const int hidden : {128, 100, 512, 500})
          texts.push_back(text_of(layer, both_directions, given, "N", hidden));
        for (const int hidden : {128, 100})
          texts.push_back(text_of(layer, both_directions, given, "1", hidden));
      }
    }
  }
  for (const auto& list : {std::span<const Product>(others), std::span<const Product>(loops)}) {
    for (const Product& one : list)
      texts.push_back(text_of(one.x, one.result, fmt::format("  y = {}\n", one.expression)));
  }
  return texts;
}

}  // namespace dyn::aot
