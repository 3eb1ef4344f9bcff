// Attention of ONNX Runtime's own domain beside plain loops in double precision.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::contrib_attention {
namespace {

/// An element of queries, keys or values: of a sample, a head and a token.
using Element = std::function<double(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;
/// What is added to a score; nothing where the query must not see the key.
using Bias =
    std::function<std::optional<double>(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;

struct Sizes {
  std::int64_t batch, heads, queries, keys, size, value_size;
};

/// A head's share of a row that sees a key without value, as a score.
struct Scores {
  double scale = 1, cap = 0;
  std::optional<double> sink{};
};

/// [batch, queries, heads * value_size].
Values attended(const Sizes& s, const Element& q, const Element& k, const Element& v,
                const Bias& bias, const Scores& scores) {
  Values result;
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t i = 0; i < s.queries; ++i)
      for (std::int64_t h = 0; h < s.heads; ++h) {
        Values weights;
        double total = scores.sink ? std::exp(*scores.sink) : 0;
        for (std::int64_t j = 0; j < s.keys; ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < s.size; ++d) score += q(b, h, i, d) * k(b, h, j, d);
          score *= scores.scale;
          if (scores.cap > 0) score = scores.cap * std::tanh(score / scores.cap);
          const std::optional<double> added = bias(b, h, i, j);
          weights.push_back(added ? std::exp(score + *added) : 0);
          total += weights.back();
        }
        for (std::int64_t d = 0; d < s.value_size; ++d) {
          double sum = 0;
          for (std::int64_t j = 0; j < s.keys; ++j)
            sum += weights[static_cast<std::size_t>(j)] / total * v(b, h, j, d);
          result.push_back(sum);
        }
      }
  return result;
}

/// Heads side by side in rows of `width` elements, of which these begin at `start`.
Element in_rows(const std::vector<float>& x, std::int64_t tokens, std::int64_t width,
                std::int64_t start, std::int64_t size) {
  return [&x, tokens, width, start, size](auto b, auto h, auto token, auto d) {
    return at(x, (b * tokens + token) * width + start + h * size + d);
  };
}

/// [batch, heads, tokens, size].
Element by_heads(const std::vector<float>& x, std::int64_t heads, std::int64_t tokens,
                 std::int64_t size) {
  return [&x, heads, tokens, size](auto b, auto h, auto token, auto d) {
    return at(x, ((b * heads + h) * tokens + token) * size + d);
  };
}

/// The first keys of one, and those of another behind them.
Element behind(const Element& past, std::int64_t count, const Element& x) {
  return [past, count, x](auto b, auto h, auto token, auto d) {
    return token < count ? past(b, h, token, d) : x(b, h, token - count, d);
  };
}

std::vector<float> floats(std::int64_t count) {
  return random_floats(static_cast<std::size_t>(count), -1.5F, 2);
}

TEST_CASE("MultiHeadAttention with a past, a bias of its inputs and masks of keys") {
  constexpr std::int64_t heads = 2, size = 4;
  for (const std::int64_t past : {0, 3}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t queries : {1, 4}) {
        CAPTURE(past);
        CAPTURE(causal);
        CAPTURE(queries);
        const Sizes s{2, heads, queries, past + queries, size, size};
        OnnxFile file;
        file.input("q", {"B", "S", 8}).input("k", {"B", "S", 8}).input("v", {"B", "S", 8});
        file.input("bias", {24}).input("mask", {"B", "T"}, onnx::TensorProto::INT32);
        file.input("pk", {"B", 2, "P", 4}).input("pv", {"B", 2, "P", 4});
        file.output("y").output("nk").output("nv");
        onnx::NodeProto& node =
            past > 0 ? contrib(file, "MultiHeadAttention",
                               {"q", "k", "v", "bias", "mask", "", "pk", "pv"}, {"y", "nk", "nv"})
                     : contrib(file, "MultiHeadAttention", {"q", "k", "v", "bias", "mask"},
                               {"y", "nk", "nv"});
        set(set(node, "num_heads", heads), "unidirectional", causal);
        set_number(node, "mask_filter_value", -1e9F);
        std::vector<float> q = floats(s.batch * queries * 8), k = floats(s.batch * queries * 8),
                           v = floats(s.batch * queries * 8), bias = floats(24),
                           pk = floats(s.batch * past * 8), pv = floats(s.batch * past * 8);
        std::vector<std::int32_t> mask;
        for (std::int64_t i = 0; i < s.batch * s.keys; ++i)
          mask.push_back(i % s.keys == 0 || i % 3 != 1 ? 1 : 0);
        const auto biased = [&](const std::vector<float>& x, std::int64_t start) -> Element {
          return [&, start](auto b, auto h, auto token, auto d) {
            return in_rows(x, queries, 8, 0, size)(b, h, token, d) + at(bias, start + h * size + d);
          };
        };
        const Element keys = behind(by_heads(pk, heads, past, size), past, biased(k, 8)),
                      values = behind(by_heads(pv, heads, past, size), past, biased(v, 16));
        const Values expected =
            attended(s, biased(q, 0), keys, values,
                     [&](auto b, auto, auto i, auto j) -> std::optional<double> {
                       const bool seen = mask[static_cast<std::size_t>(b * s.keys + j)] != 0 &&
                                         (!causal || j <= past + i);
                       return seen ? std::optional(0.0) : std::nullopt;
                     },
                     {0.5});
        const std::vector<Result> results =
            run_all(file, {{"q", Tensor::view(q.data(), {s.batch, queries, 8})},
                           {"k", Tensor::view(k.data(), {s.batch, queries, 8})},
                           {"v", Tensor::view(v.data(), {s.batch, queries, 8})},
                           {"bias", Tensor::view(bias.data(), {24})},
                           {"mask", Tensor::view(mask.data(), {s.batch, s.keys})},
                           {"pk", Tensor::view(pk.data(), {s.batch, heads, past, size})},
                           {"pv", Tensor::view(pv.data(), {s.batch, heads, past, size})}});
        check_close(results[0].values, expected, 1e-5);
        CHECK(results[1].shape == Shape{s.batch, heads, s.keys, size});
        Values present;
        for (std::int64_t i = 0; i < s.batch * heads * s.keys * size; ++i)
          present.push_back(values(i / (heads * s.keys * size), i / (s.keys * size) % heads,
                                   i / size % s.keys, i % size));
        check_close(results[2].values, present);
      }
    }
  }
}

TEST_CASE("MultiHeadAttention takes packed tensors, and keys of a cache without a bias") {
  constexpr std::int64_t batch = 2, heads = 2, length = 3, size = 4, width = heads * 3 * size;
  std::vector<float> packed = floats(batch * length * width);
  const auto part = [&](std::int64_t which) -> Element {
    return [&, which](auto b, auto h, auto token, auto d) {
      return at(packed, (((b * length + token) * heads + h) * 3 + which) * size + d);
    };
  };
  const auto all = [](auto, auto, auto, auto) { return std::optional(0.0); };
  OnnxFile whole;
  whole.input("q", {"B", "S", 2, 3, 4}).output("y");
  set(contrib(whole, "MultiHeadAttention", {"q"}, {"y"}), "num_heads", heads);
  const Sizes s{batch, heads, length, length, size, size};
  check_close(run(whole, {{"q", {&packed, {batch, length, heads, 3, size}}}}).values,
              attended(s, part(0), part(1), part(2), all, {0.5}), 1e-5);
  OnnxFile cached;
  cached.input("q", {"B", "S", 8}).input("k", {"B", 2, "T", 4}).input("v", {"B", 2, "T", 4});
  cached.input("bias", {24}).output("y");
  set(contrib(cached, "MultiHeadAttention", {"q", "k", "v", "bias"}, {"y"}), "num_heads", heads);
  constexpr std::int64_t keys = 5;
  std::vector<float> q = floats(batch * length * 8), k = floats(batch * keys * 8),
                     v = floats(batch * keys * 8), bias = floats(24);
  const Element biased = [&](auto b, auto h, auto token, auto d) {
    return in_rows(q, length, 8, 0, size)(b, h, token, d) + at(bias, h * size + d);
  };
  check_close(run(cached, {{"q", {&q, {batch, length, 8}}},
                           {"k", {&k, {batch, heads, keys, size}}},
                           {"v", {&v, {batch, heads, keys, size}}},
                           {"bias", {&bias, {24}}}})
                  .values,
              attended({batch, heads, length, keys, size, size}, biased,
                       by_heads(k, heads, keys, size), by_heads(v, heads, keys, size), all, {0.5}),
              1e-5);
}

TEST_CASE("Attention projects, and takes masks of every form") {
  constexpr std::int64_t batch = 2, heads = 2, length = 4, size = 2, inputs = 3, width = 12, M = 6;
  enum Form { Ends, EndsAndStarts, Keys, Rows, Square };
  for (const Form form : {Ends, EndsAndStarts, Keys, Rows, Square}) {
    CAPTURE(static_cast<int>(form));
    OnnxFile file;
    file.input("x", {2, "S", 3}).output("y");
    std::vector<float> w = floats(inputs * width), bias = floats(width);
    file.floats("w", {inputs, width}, w).floats("b", {width}, bias);
    const std::vector<Shape> shapes{
        {batch}, {2 * batch}, {batch, length}, {batch, length, length}, {batch, 1, M, M}};
    const Shape& shape = shapes[static_cast<std::size_t>(form)];
    std::int64_t count = 1;
    for (const std::int64_t each : shape) count *= each;
    std::vector<std::int32_t> mask;
    for (std::int64_t i = 0; i < count; ++i) mask.push_back(i % 5 % 2 == 0 ? 1 : 0);
    if (form == Ends) mask = {3, 1};
    if (form == EndsAndStarts) mask = {3, 4, 0, 2};
    add_constant(file, "m", shape, mask);
    onnx::NodeProto& node = contrib(file, "Attention", {"x", "w", "b", "m"}, {"y"});
    set_number(set(node, "num_heads", heads), "mask_filter_value", -1e9F);
    const auto value = [&](std::int64_t i) { return mask[static_cast<std::size_t>(i)]; };
    const auto seen = [&](std::int64_t b, std::int64_t i, std::int64_t j) {
      switch (form) {
        case Ends: return j < value(b);
        case EndsAndStarts: return j < value(b) && j >= value(batch + b);
        case Keys: return value(b * length + j) != 0;
        case Rows: return value((b * length + i) * length + j) != 0;
        default: return value((b * M + i) * M + j) != 0;
      }
    };
    std::vector<float> x = floats(batch * length * inputs), projected;
    for (std::int64_t i = 0; i < batch * length * width; ++i) {
      double sum = at(bias, i % width);
      for (std::int64_t t = 0; t < inputs; ++t)
        sum += at(x, i / width * inputs + t) * at(w, t * width + i % width);
      projected.push_back(static_cast<float>(sum));
    }
    // A row that sees no key sees all alike.
    const Bias added = [&](auto b, auto, auto i, auto j) -> std::optional<double> {
      bool any = false;
      for (std::int64_t other = 0; other < length; ++other) any = any || seen(b, i, other);
      return seen(b, i, j) || !any ? std::optional(0.0) : std::nullopt;
    };
    const auto part = [&](std::int64_t start) {
      return in_rows(projected, length, width, start, size);
    };
    const Values actual = run(file, {{"x", {&x, {batch, length, inputs}}}}).values,
                 expected = attended({batch, heads, length, length, size, size}, part(0), part(4),
                                     part(8), added, {1 / std::sqrt(2.0)});
    for (std::int64_t row = 0; row < batch * length; ++row) {
      bool any = false;
      for (std::int64_t j = 0; j < length; ++j) any = any || seen(row / length, row % length, j);
      if (!any) continue;  // scores less a great number have few digits left
      const auto begin = static_cast<std::ptrdiff_t>(row * heads * size);
      check_close({actual.begin() + begin, actual.begin() + begin + heads * size},
                  {expected.begin() + begin, expected.begin() + begin + heads * size}, 1e-5);
    }
  }
}

TEST_CASE("what attention needs is asked for, and what it cannot do refused") {
  const auto file_with = [](const char* op, std::initializer_list<std::string> inputs) {
    OnnxFile file;
    file.input("x", {"B", "S", 8}).input("flat", {"N", 8}).input("w", {8, 24}).output("y");
    file.input("lengths", {"B"}, onnx::TensorProto::INT32);
    file.input("total", {}, onnx::TensorProto::INT32);
    contrib(file, op, inputs, {"y"});
    return file;
  };
  const auto node = [](OnnxFile& file) -> onnx::NodeProto& {
    return *file.model.mutable_graph()->mutable_node(0);
  };
  check_error(file_with("MultiHeadAttention", {"x", "x", "x"}), ErrorKind::model,
              {"num_heads is 0; it must be at least 1"});
  OnnxFile flat = file_with("MultiHeadAttention", {"flat", "x", "x"});
  set(node(flat), "num_heads", 2);
  check_error(flat, ErrorKind::model, {"its input 0 must have 3 dims, not 2"});
  OnnxFile shared = file_with("MultiHeadAttention", {"x", "x", "x", "", "", "", "", "", "lengths"});
  set(node(shared), "num_heads", 2);
  check_error(shared, ErrorKind::unsupported, {"share"});
  OnnxFile turned = file_with("Attention", {"x", "w"});
  set(set(node(turned), "num_heads", 2), "do_rotary", 1);
  check_error(turned, ErrorKind::unsupported, {"do_rotary"});
  OnnxFile sizes = file_with("Attention", {"x", "w"});
  set_list(set(node(sizes), "num_heads", 2), "qkv_hidden_sizes", {8, 8});
  check_error(sizes, ErrorKind::model, {"qkv_hidden_sizes has 2 elements"});
  check_error(file_with("GroupQueryAttention", {"x", "x", "x", "", "", "lengths", "total"}),
              ErrorKind::model, {"num_heads is 0"});
  OnnxFile lone = file_with("GroupQueryAttention", {"x", "x", "x", "x", "", "lengths", "total"});
  set(set(node(lone), "num_heads", 2), "kv_num_heads", 2);
  check_error(lone, ErrorKind::model, {"past_key and past_value come together"});
}

/// A decoder's layer that runs a prompt, and then tokens behind it.
struct Decoder {
  static constexpr std::int64_t heads = 4, key_heads = 2, size = 4, places = 16;
  std::vector<float> cosines = floats(places * size / 2), sines = floats(places * size / 2);
  bool turns = false, has_ids = false;
  std::int64_t window = -1;
  double cap = 0;
  bool smooth = false;

  OnnxFile file() const {
    OnnxFile file;
    file.input("q", {"B", "S", 16}).input("k", {"B", "S", 8}).input("v", {"B", "S", 8});
    file.input("pk", {"B", 2, "P", 4}).input("pv", {"B", 2, "P", 4});
    file.input("last", {"B"}, onnx::TensorProto::INT32);
    file.input("total", {}, onnx::TensorProto::INT32);
    file.input("ids", {"B", "S"}, onnx::TensorProto::INT64);
    file.floats("c", {places, size / 2}, cosines).floats("s", {places, size / 2}, sines);
    file.output("y").output("nk").output("nv");
    onnx::NodeProto& node =
        contrib(file, "GroupQueryAttention", {"q", "k", "v", "pk", "pv", "last", "total", "c", "s"},
                {"y", "nk", "nv"});
    if (has_ids) node.add_input("ids");
    set(set(node, "num_heads", heads), "kv_num_heads", key_heads);
    set(set(node, "do_rotary", turns), "local_window_size", window);
    set_number(set(node, "smooth_softmax", smooth), "softcap", static_cast<float>(cap));
    return file;
  }

  /// The element of a head at a place, where its halves are turned.
  double turned(const Element& x, std::int64_t b, std::int64_t h, std::int64_t token,
                std::int64_t d, std::int64_t place) const {
    if (!turns) return x(b, h, token, d);
    constexpr std::int64_t half = size / 2;
    const double cosine = at(cosines, place * half + d % half),
                 sine = at(sines, place * half + d % half);
    const double first = x(b, h, token, d % half), second = x(b, h, token, d % half + half);
    return d < half ? cosine * first - sine * second : sine * first + cosine * second;
  }
};

TEST_CASE("GroupQueryAttention appends to each sample's cache, at any length") {
  constexpr std::int64_t batch = 2, heads = Decoder::heads, key_heads = Decoder::key_heads,
                         size = Decoder::size;
  for (int form = 0; form < 16; ++form) {
    CAPTURE(form);
    Decoder decoder;
    decoder.turns = (form & 1) != 0;
    decoder.window = (form & 2) != 0 ? 2 : -1;
    decoder.cap = (form & 4) != 0 ? 1.5 : 0;
    decoder.smooth = (form & 4) != 0;
    decoder.has_ids = (form & 8) != 0;
    const Graph graph = load(decoder.file());
    // The first sample has no more tokens than the cache holds before it; the second has fewer.
    for (const auto& [tokens, capacity, lengths] :
         {std::tuple{3, 4, std::vector<std::int64_t>{3, 2}},
          std::tuple{1, 4, std::vector<std::int64_t>{5, 3}},
          std::tuple{1, 9, std::vector<std::int64_t>{6, 2}},
          std::tuple{2, 5, std::vector<std::int64_t>{7, 4}}}) {
      CAPTURE(tokens);
      CAPTURE(capacity);
      const std::int64_t total = lengths[0], room = std::max<std::int64_t>(capacity, total);
      std::vector<float> q = floats(batch * tokens * heads * size),
                         k = floats(batch * tokens * key_heads * size),
                         v = floats(batch * tokens * key_heads * size),
                         pk = floats(batch * key_heads * capacity * size),
                         pv = floats(batch * key_heads * capacity * size);
      std::vector<std::int32_t> last{static_cast<std::int32_t>(lengths[0] - 1),
                                     static_cast<std::int32_t>(lengths[1] - 1)},
          totals{static_cast<std::int32_t>(total)};
      std::vector<std::int64_t> ids;
      for (std::int64_t i = 0; i < batch * tokens; ++i) ids.push_back((i * 5 + 3) % 11);
      const auto before = [&lengths, tokens = tokens](std::int64_t b) {
        return std::max<std::int64_t>(lengths[static_cast<std::size_t>(b)] - tokens, 0);
      };
      // Of a whole prompt the first place that is given counts.
      const auto place_of = [&, tokens = tokens](std::int64_t b, std::int64_t token) {
        if (!decoder.has_ids) return before(b) + token;
        return tokens == total ? ids[0] + token : ids[static_cast<std::size_t>(b * tokens + token)];
      };
      const auto present = [&](const std::vector<float>& cache, const std::vector<float>& x,
                               bool is_turned) -> Element {
        return [&, is_turned](auto b, auto h, auto j, auto d) {
          const std::int64_t shared = h / (heads / key_heads);
          if (j < before(b)) return by_heads(cache, key_heads, capacity, size)(b, shared, j, d);
          const Element rows = in_rows(x, tokens, key_heads * size, 0, size);
          return is_turned
                     ? decoder.turned(rows, b, shared, j - before(b), d, place_of(b, j - before(b)))
                     : rows(b, shared, j - before(b), d);
        };
      };
      const Element keys = present(pk, k, true), values = present(pv, v, false);
      Scores scores{0.5, decoder.cap, std::nullopt};
      if (decoder.smooth) scores.sink = 0;
      const Values expected = attended(
          {batch, heads, tokens, total, size, size},
          [&](auto b, auto h, auto i, auto d) {
            return decoder.turned(in_rows(q, tokens, heads * size, 0, size), b, h, i, d,
                                  place_of(b, i));
          },
          [&](auto b, auto h, auto j, auto d) {
            return j < before(b) + tokens ? keys(b, h, j, d) : 0.0;
          },
          [&](auto b, auto h, auto j, auto d) {
            return j < before(b) + tokens ? values(b, h, j, d) : 0.0;
          },
          [&](auto b, auto, auto i, auto j) -> std::optional<double> {
            const std::int64_t place = before(b) + i;
            const bool seen = j <= place && (decoder.window < 0 || j > place - decoder.window);
            return seen ? std::optional(0.0) : std::nullopt;
          },
          scores);
      const std::vector<Result> results =
          run_all(graph, {{"q", Tensor::view(q.data(), {batch, tokens, heads * size})},
                          {"k", Tensor::view(k.data(), {batch, tokens, key_heads * size})},
                          {"v", Tensor::view(v.data(), {batch, tokens, key_heads * size})},
                          {"pk", Tensor::view(pk.data(), {batch, key_heads, capacity, size})},
                          {"pv", Tensor::view(pv.data(), {batch, key_heads, capacity, size})},
                          {"last", Tensor::view(last.data(), {batch})},
                          {"total", Tensor::view(totals.data(), {})},
                          {"ids", Tensor::view(ids.data(), {batch, tokens})}});
      check_close(results[0].values, expected, 1e-5);
      REQUIRE(results[1].shape == Shape{batch, key_heads, room, size});
      for (std::int64_t i = 0; i < batch * key_heads * room * size; ++i) {
        const std::int64_t b = i / (key_heads * room * size), h = i / (room * size) % key_heads,
                           j = i / size % room, d = i % size;
        if (j >= lengths[static_cast<std::size_t>(b)]) continue;  // nothing is promised there
        const auto place = static_cast<std::size_t>(i);
        const std::int64_t head = h * (heads / key_heads);
        CHECK(results[1].values[place] == doctest::Approx(keys(b, head, j, d)).epsilon(1e-5));
        CHECK(results[2].values[place] == doctest::Approx(values(b, head, j, d)).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("GroupQueryAttention of a packed tensor without a cache") {
  constexpr std::int64_t batch = 2, heads = 4, key_heads = 2, size = 4, tokens = 5,
                         width = (heads + 2 * key_heads) * size;
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    OnnxFile file;
    file.input("x", {"B", "S", 32}).input("last", {"B"}, onnx::TensorProto::INT32);
    file.input("bias", {1, 4, "S", "S"}).output("y").output("k").output("v");
    add_constant(file, "total", {}, std::vector<std::int32_t>{tokens});
    onnx::NodeProto& node =
        contrib(file, "GroupQueryAttention",
                {"x", "", "", "", "", "last", "total", "", "", "", "bias"}, {"y", "k", "v"});
    set(set(set(node, "num_heads", heads), "kv_num_heads", key_heads), "causal", causal);
    std::vector<float> x = floats(batch * tokens * width), bias = floats(heads * tokens * tokens);
    std::vector<std::int32_t> last{tokens - 1, 2};
    const auto shared = [&](std::int64_t start) -> Element {
      return [&, start](auto b, auto h, auto j, auto d) {
        return in_rows(x, tokens, width, start, size)(b, h / 2, j, d);
      };
    };
    const Element keys = shared(heads * size), values = shared((heads + key_heads) * size);
    const Values expected = attended({batch, heads, tokens, tokens, size, size},
                                     in_rows(x, tokens, width, 0, size), keys, values,
                                     [&](auto b, auto h, auto i, auto j) -> std::optional<double> {
                                       if (causal ? j > i : j > last[static_cast<std::size_t>(b)])
                                         return std::nullopt;
                                       return at(bias, (h * tokens + i) * tokens + j);
                                     },
                                     {0.5});
    const std::vector<Result> results =
        run_all(file, {{"x", Tensor::view(x.data(), {batch, tokens, width})},
                       {"last", Tensor::view(last.data(), {batch})},
                       {"bias", Tensor::view(bias.data(), {1, heads, tokens, tokens})}});
    check_close(results[0].values, expected, 1e-5);
    CHECK(results[1].shape == Shape{batch, key_heads, tokens, size});
    CHECK(results[2].values[1] == values(0, 0, 0, 1));
  }
}

TEST_CASE("RotaryEmbedding of com.microsoft has its places before its tables") {
  constexpr std::int64_t batch = 2, heads = 2, length = 3, size = 6, half = 2, places = 9;
  for (const bool flat : {false, true}) {
    for (const bool offset : {false, true}) {
      CAPTURE(flat);
      CAPTURE(offset);
      OnnxFile file;
      if (flat)
        file.input("x", {"B", "S", 12});
      else
        file.input("x", {"B", 2, "S", 6});
      if (offset)
        file.input("at", {1}, onnx::TensorProto::INT64);
      else
        file.input("at", {"B", "S"}, onnx::TensorProto::INT64);
      std::vector<float> cosines = floats(places * half), sines = floats(places * half);
      file.floats("c", {places, half}, cosines).floats("s", {places, half}, sines).output("y");
      onnx::NodeProto& node = contrib(file, "RotaryEmbedding", {"x", "at", "c", "s"}, {"y"});
      set(set(node, "num_heads", heads), "rotary_embedding_dim", 2 * half);
      std::vector<float> x = floats(batch * heads * length * size);
      std::vector<std::int64_t> ids{4, 0, 7, 2, 8, 1};
      if (offset) ids = {5};
      Values expected(x.begin(), x.end());
      for (std::int64_t i = 0; i < batch * heads * length * half; ++i) {
        const std::int64_t b = i / (heads * length * half), h = i / (length * half) % heads,
                           token = i / half % length, pair = i % half;
        const std::int64_t start = flat ? ((b * length + token) * heads + h) * size
                                        : ((b * heads + h) * length + token) * size;
        const std::int64_t place =
            offset ? ids[0] + token : ids[static_cast<std::size_t>(b * length + token)];
        const double cosine = at(cosines, place * half + pair),
                     sine = at(sines, place * half + pair), first = at(x, start + pair),
                     second = at(x, start + half + pair);
        expected[static_cast<std::size_t>(start + pair)] = cosine * first - sine * second;
        expected[static_cast<std::size_t>(start + half + pair)] = sine * first + cosine * second;
      }
      const NamedTensors inputs{
          {"x", Tensor::view(x.data(), flat ? Shape{batch, length, heads * size}
                                            : Shape{batch, heads, length, size})},
          {"at", Tensor::view(ids.data(), offset ? Shape{1} : Shape{batch, length})}};
      check_close(run_all(file, inputs).front().values, expected, 1e-6);
    }
  }
}

}  // namespace
}  // namespace dyn::testing::contrib_attention
