// Imported attention and what transformers have around it, beside plain loops in double precision.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/import/onnx/values.hpp"

// A namespace of its own: the sizes of these models have plain names.
namespace dyn::testing::attention {
namespace {

/// One draw of all that the operator has.
struct Case {
  std::int64_t batch = 1, heads = 1, sharing = 1, size = 1, value_size = 1, queries = 1, keys = 1,
               past = 0;
  bool is_flat = false, is_causal = false, has_past = false, has_lengths = false;
  int mask = 0;               ///< 0: none, 1: bool, 2: float
  bool mask_of_rows = false;  ///< [queries, keys], else for each batch and head
  std::int64_t left = -1, right = -1, shown = -1;
  double cap = 0, scale = 0;
  std::int64_t total() const { return past + keys; }
  std::int64_t kv_heads() const { return heads / sharing; }
};

struct Tensors {
  std::vector<float> q, k, v, past_k, past_v, bias;
  std::vector<std::uint8_t> seen;
  std::vector<std::int64_t> lengths;
};

Case draw(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Case c;
  c.batch = pick(1, 3);
  c.sharing = pick(1, 2);
  c.heads = c.sharing * pick(1, 2);
  c.size = pick(1, 3) * 2;
  c.value_size = pick(1, 5);
  c.queries = pick(1, 5);
  c.keys = pick(0, 1) != 0 ? c.queries : pick(1, 6);
  c.is_flat = pick(0, 1) != 0;
  c.is_causal = pick(0, 1) != 0;
  c.has_past = pick(0, 2) == 0;
  c.past = c.has_past ? pick(0, 4) : 0;
  c.has_lengths = !c.has_past && pick(0, 3) == 0;
  c.mask = static_cast<int>(pick(0, 2));
  c.mask_of_rows = pick(0, 1) != 0;
  if (pick(0, 3) == 0) c.left = pick(0, 3);
  if (pick(0, 3) == 0) c.right = pick(0, 2);
  if (pick(0, 3) == 0) c.shown = pick(0, 3);
  if (pick(0, 3) == 0) c.cap = 1.5;
  if (pick(0, 1) == 0) c.scale = 0.37;
  return c;
}

Tensors draw_tensors(const Case& c, std::mt19937_64& random) {
  const auto floats = [](std::int64_t count) {
    return random_floats(static_cast<std::size_t>(count));
  };
  Tensors t{floats(c.batch * c.heads * c.queries * c.size),
            floats(c.batch * c.kv_heads() * c.keys * c.size),
            floats(c.batch * c.kv_heads() * c.keys * c.value_size),
            floats(c.batch * c.kv_heads() * c.past * c.size),
            floats(c.batch * c.kv_heads() * c.past * c.value_size),
            floats(c.batch * c.heads * c.queries * c.total()),
            {},
            {}};
  std::bernoulli_distribution coin(0.6);
  for (float& each : t.bias) {
    t.seen.push_back(coin(random));
    if (!coin(random)) each = -std::numeric_limits<float>::infinity();
  }
  for (std::int64_t b = 0; b < c.batch; ++b)
    t.lengths.push_back(std::uniform_int_distribution<std::int64_t>(0, c.keys)(random));
  return t;
}

/// The element of [batch, heads, rows, size], or of [batch, rows, heads * size].
double element(const std::vector<float>& x, bool is_flat, std::int64_t heads, std::int64_t rows,
               std::int64_t size, std::int64_t b, std::int64_t h, std::int64_t row,
               std::int64_t i) {
  return at(x, is_flat ? ((b * rows + row) * heads + h) * size + i
                       : ((b * heads + h) * rows + row) * size + i);
}

struct Expected {
  Values result, shown;
};

/// The score of a query and a key after each step, and whether it may be seen.
struct Score {
  double raw, capped, biased;
  bool is_seen;
};

Score score_of(const Case& c, const Tensors& t, std::int64_t b, std::int64_t h, std::int64_t i,
               std::int64_t j) {
  const double scale = c.scale > 0 ? c.scale : 1 / std::sqrt(static_cast<double>(c.size));
  const std::int64_t shared = h / c.sharing;
  Score score{0, 0, 0, true};
  for (std::int64_t d = 0; d < c.size; ++d) {
    const double key =
        j < c.past
            ? at(t.past_k, ((b * c.kv_heads() + shared) * c.past + j) * c.size + d)
            : element(t.k, c.is_flat, c.kv_heads(), c.keys, c.size, b, shared, j - c.past, d);
    score.raw += element(t.q, c.is_flat, c.heads, c.queries, c.size, b, h, i, d) * key * scale;
  }
  score.capped = c.cap > 0 ? std::tanh(score.raw / c.cap) * c.cap : score.raw;
  score.biased = score.capped;
  const std::int64_t length = c.has_lengths ? t.lengths[static_cast<std::size_t>(b)] : 0;
  const std::int64_t place = i + (c.has_past ? c.past : c.has_lengths ? length - c.queries : 0);
  score.is_seen = (!c.is_causal || j <= place) && (c.left < 0 || j >= place - c.left) &&
                  (c.right < 0 || j <= place + c.right) && (!c.has_lengths || j < length);
  const std::int64_t row = c.mask_of_rows ? i : (b * c.heads + h) * c.queries + i;
  const auto masked = static_cast<std::size_t>(row * c.total() + j);
  if (c.mask == 1) score.is_seen = score.is_seen && t.seen[masked] != 0;
  if (c.mask == 2) {
    score.is_seen = score.is_seen && std::isfinite(t.bias[masked]);
    score.biased += static_cast<double>(t.bias[masked]);
  }
  return score;
}

Expected expected_of(const Case& c, const Tensors& t) {
  Expected expected;
  expected.result.resize(static_cast<std::size_t>(c.batch * c.heads * c.queries * c.value_size));
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t h = 0; h < c.heads; ++h) {
      for (std::int64_t i = 0; i < c.queries; ++i) {
        std::vector<Score> scores;
        double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::int64_t j = 0; j < c.total(); ++j) {
          scores.push_back(score_of(c, t, b, h, i, j));
          if (scores.back().is_seen) greatest = std::max(greatest, scores.back().biased);
        }
        std::vector<double> weights;
        for (const Score& each : scores) {
          weights.push_back(each.is_seen ? std::exp(each.biased - greatest) : 0);
          sum += weights.back();
        }
        for (std::int64_t j = 0; j < c.total(); ++j) {
          double& weight = weights[static_cast<std::size_t>(j)];
          if (sum > 0) weight /= sum;
          const Score& score = scores[static_cast<std::size_t>(j)];
          // What is not seen is minus infinity there.
          expected.shown.push_back(c.shown == 0   ? score.raw
                                   : c.shown == 1 ? score.capped
                                   : c.shown == 2 ? (score.is_seen ? score.biased : 0)
                                                  : weight);
          for (std::int64_t d = 0; d < c.value_size; ++d) {
            const double value =
                j < c.past
                    ? at(t.past_v,
                         ((b * c.kv_heads() + h / c.sharing) * c.past + j) * c.value_size + d)
                    : element(t.v, c.is_flat, c.kv_heads(), c.keys, c.value_size, b, h / c.sharing,
                              j - c.past, d);
            const std::int64_t place = c.is_flat
                                           ? ((b * c.queries + i) * c.heads + h) * c.value_size + d
                                           : ((b * c.heads + h) * c.queries + i) * c.value_size + d;
            expected.result[static_cast<std::size_t>(place)] += weight * value;
          }
        }
      }
    }
  }
  return expected;
}

OnnxFile file_of(const Case& c) {
  OnnxFile file(25);
  const int q = static_cast<int>(c.heads * c.size), k = static_cast<int>(c.kv_heads() * c.size),
            v = static_cast<int>(c.kv_heads() * c.value_size), heads = static_cast<int>(c.heads),
            kv = static_cast<int>(c.kv_heads()), size = static_cast<int>(c.size),
            value_size = static_cast<int>(c.value_size);
  if (c.is_flat)
    file.input("q", {"B", "S", q}).input("k", {"B", "T", k}).input("v", {"B", "T", v});
  else
    file.input("q", {"B", heads, "S", size})
        .input("k", {"B", kv, "T", size})
        .input("v", {"B", kv, "T", value_size});
  const int mask_type = c.mask == 1 ? onnx::TensorProto::BOOL : onnx::TensorProto::FLOAT;
  if (c.mask > 0 && c.mask_of_rows) file.input("mask", {"S", "M"}, mask_type);
  if (c.mask > 0 && !c.mask_of_rows) file.input("mask", {"B", heads, "S", "M"}, mask_type);
  if (c.has_past)
    file.input("past_k", {"B", kv, "P", size}).input("past_v", {"B", kv, "P", value_size});
  if (c.has_lengths) file.input("lengths", {"B"}, onnx::TensorProto::INT64);
  file.output("y");
  if (c.shown >= 0) file.output("shown");
  onnx::NodeProto& node =
      file.node("Attention",
                {"q", "k", "v", c.mask > 0 ? "mask" : "", c.has_past ? "past_k" : "",
                 c.has_past ? "past_v" : "", c.has_lengths ? "lengths" : ""},
                {"y", c.has_past ? "present_k" : "", c.has_past ? "present_v" : "",
                 c.shown >= 0 ? "shown" : ""});
  if (c.is_flat) set(set(node, "q_num_heads", c.heads), "kv_num_heads", c.kv_heads());
  if (c.is_causal) set(node, "is_causal", 1);
  if (c.left >= 0) set(node, "left_window_size", c.left);
  if (c.right >= 0) set(node, "right_window_size", c.right);
  if (c.shown >= 0) set(node, "qk_matmul_output_mode", c.shown);
  if (c.cap > 0) set_number(node, "softcap", static_cast<float>(c.cap));
  if (c.scale > 0) set_number(node, "scale", static_cast<float>(c.scale));
  return file;
}

NamedTensors inputs_of(const Case& c, Tensors& t) {
  const auto shape = [&](std::int64_t heads, std::int64_t rows, std::int64_t size) {
    return c.is_flat ? Shape{c.batch, rows, heads * size} : Shape{c.batch, heads, rows, size};
  };
  NamedTensors inputs{{"q", Tensor::view(t.q.data(), shape(c.heads, c.queries, c.size))},
                      {"k", Tensor::view(t.k.data(), shape(c.kv_heads(), c.keys, c.size))},
                      {"v", Tensor::view(t.v.data(), shape(c.kv_heads(), c.keys, c.value_size))}};
  const Shape mask =
      c.mask_of_rows ? Shape{c.queries, c.total()} : Shape{c.batch, c.heads, c.queries, c.total()};
  if (c.mask == 1) inputs.emplace_back("mask", Tensor::view(DType::boolean, t.seen.data(), mask));
  if (c.mask == 2) inputs.emplace_back("mask", Tensor::view(t.bias.data(), mask));
  if (c.has_past) {
    const auto past = [&](const std::vector<float>& x, std::int64_t size) {
      return Tensor::from(std::span<const float>(x), {c.batch, c.kv_heads(), c.past, size});
    };
    inputs.emplace_back("past_k", past(t.past_k, c.size));
    inputs.emplace_back("past_v", past(t.past_v, c.value_size));
  }
  if (c.has_lengths) inputs.emplace_back("lengths", Tensor::view(t.lengths.data(), {c.batch}));
  return inputs;
}

}  // namespace

TEST_CASE("imported attention: shared heads, the past, masks, windows and lengths") {
  INFO("DYN_SEED=", test_seed());
  std::mt19937_64 random(test_seed());
  const int rounds = test_rounds(200, 5);
  for (int round = 0; round < rounds; ++round) {
    const Case c = draw(random);
    Tensors t = draw_tensors(c, random);
    CAPTURE(round);
    CAPTURE(c.mask);
    CAPTURE(c.is_causal);
    CAPTURE(c.has_past);
    CAPTURE(c.has_lengths);
    CAPTURE(c.shown);
    CAPTURE(c.left);
    CAPTURE(c.right);
    const Expected expected = expected_of(c, t);
    std::vector<Result> results = run_all(file_of(c), inputs_of(c, t));
    check_close(results[0].values, expected.result, 2e-5);
    if (c.shown < 0) continue;
    if (c.shown == 2) {
      for (double& each : results[1].values) each = std::isinf(each) && each < 0 ? 0 : each;
    }
    check_close(results[1].values, expected.shown, 2e-5);
  }
}

TEST_CASE("an attention of ten keys at once sees its past in order") {
  Case c;
  c.heads = 2;
  c.size = c.value_size = 4;
  c.queries = c.keys = 10;
  c.past = 7;
  c.has_past = c.is_causal = true;
  std::mt19937_64 random(test_seed());
  Tensors t = draw_tensors(c, random);
  check_close(run_all(file_of(c), inputs_of(c, t)).front().values, expected_of(c, t).result, 2e-5);
}

TEST_CASE("a mask may be for fewer keys than there are") {
  OnnxFile file(24);
  file.input("q", {1, 1, "S", 2}).input("k", {1, 1, "T", 2}).input("v", {1, 1, "T", 2});
  file.input("mask", {"S", "M"}).output("y");
  file.node("Attention", {"q", "k", "v", "mask"}, {"y"});
  Case c;
  c.size = c.value_size = 2;
  c.queries = 3;
  c.keys = 4;
  c.mask = 2;
  c.mask_of_rows = true;
  std::mt19937_64 random(test_seed());
  Tensors t = draw_tensors(c, random);
  std::vector<float> few;
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) {
      float& each = t.bias[static_cast<std::size_t>(i * 4 + j)];
      if (j == 3)
        each = -std::numeric_limits<float>::infinity();
      else
        few.push_back(each);
    }
  }
  NamedTensors inputs = inputs_of(c, t);
  inputs.back().second = Tensor::view(few.data(), {3, 3});
  check_close(run_all(file, inputs).front().values, expected_of(c, t).result, 2e-5);
}

TEST_CASE("imported rotary places, whole and in part, neighbours and halves") {
  for (int bits = 0; bits < 16; ++bits) {
    const bool is_flat = (bits & 1) != 0, interleaved = (bits & 2) != 0,
               has_places = (bits & 4) != 0, is_part = (bits & 8) != 0;
    CAPTURE(bits);
    constexpr std::int64_t batch = 2, heads = 3, length = 5, size = 8, places = 11;
    const std::int64_t turned = is_part ? 4 : size, half = turned / 2;
    OnnxFile file(23);
    if (is_flat)
      file.input("x", {"B", "S", int{heads * size}});
    else
      file.input("x", {"B", int{heads}, "S", int{size}});
    for (const char* name : {"c", "s"}) {
      if (has_places)
        file.input(name, {"P", static_cast<int>(half)});
      else
        file.input(name, {"B", "S", static_cast<int>(half)});
    }
    if (has_places) file.input("at", {"B", "S"}, onnx::TensorProto::INT64);
    file.output("y");
    onnx::NodeProto& node =
        file.node("RotaryEmbedding", {"x", "c", "s", has_places ? "at" : ""}, {"y"});
    if (is_flat) set(node, "num_heads", heads);
    if (interleaved) set(node, "interleaved", 1);
    if (is_part) set(node, "rotary_embedding_dim", turned);
    std::vector<float> x = random_floats(batch * heads * length * size);
    const std::int64_t rows = has_places ? places : batch * length;
    std::vector<float> cosines = random_floats(static_cast<std::size_t>(rows * half)),
                       sines = random_floats(static_cast<std::size_t>(rows * half));
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < batch * length; ++i) ids.push_back((i * 7 + 3) % places);
    Values expected(x.begin(), x.end());
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t s = 0; s < length; ++s) {
        for (std::int64_t h = 0; h < heads; ++h) {
          const std::int64_t start =
              (is_flat ? (b * length + s) * heads + h : (b * heads + h) * length + s) * size;
          const std::int64_t token = b * length + s,
                             row = has_places ? ids[static_cast<std::size_t>(token)] : token;
          for (std::int64_t i = 0; i < half; ++i) {
            const std::int64_t first = start + (interleaved ? 2 * i : i),
                               second = start + (interleaved ? 2 * i + 1 : i + half);
            const double cosine = at(cosines, row * half + i), sine = at(sines, row * half + i);
            expected[static_cast<std::size_t>(first)] =
                cosine * at(x, first) - sine * at(x, second);
            expected[static_cast<std::size_t>(second)] =
                sine * at(x, first) + cosine * at(x, second);
          }
        }
      }
    }
    const Shape cache = has_places ? Shape{places, half} : Shape{batch, length, half};
    NamedTensors inputs{{"x", Tensor::view(x.data(), is_flat ? Shape{batch, length, heads * size}
                                                             : Shape{batch, heads, length, size})},
                        {"c", Tensor::view(cosines.data(), cache)},
                        {"s", Tensor::view(sines.data(), cache)}};
    if (has_places) inputs.emplace_back("at", Tensor::view(ids.data(), {batch, length}));
    check_close(run_all(file, inputs).front().values, expected, 1e-6);
  }
}

TEST_CASE("a cache takes new keys at each sample's place, and again from its begin") {
  for (const bool circular : {false, true}) {
    CAPTURE(circular);
    OnnxFile file(24);
    file.input("past", {"B", 2, "T", 3})
        .input("update", {"B", 2, "S", 3})
        .input("places", {"B"}, onnx::TensorProto::INT64);
    file.output("y");
    onnx::NodeProto& node = file.node("TensorScatter", {"past", "update", "places"}, {"y"});
    if (circular) set_word(node, "mode", "circular");
    constexpr std::int64_t batch = 2, length = 7, added = 3;
    std::vector<float> past = random_floats(batch * 2 * length * 3),
                       update = random_floats(batch * 2 * added * 3);
    std::vector<std::int64_t> places{4, circular ? 6 : 0};
    Values expected(past.begin(), past.end());
    for (std::int64_t i = 0; i < batch * 2 * added * 3; ++i) {
      const std::int64_t last = i % 3, step = i / 3 % added, outer = i / (3 * added),
                         row = (places[static_cast<std::size_t>(outer / 2)] + step) % length;
      expected[static_cast<std::size_t>((outer * length + row) * 3 + last)] = at(update, i);
    }
    NamedTensors inputs{{"past", Tensor::view(past.data(), {batch, 2, length, 3})},
                        {"update", Tensor::view(update.data(), {batch, 2, added, 3})},
                        {"places", Tensor::view(places.data(), {batch})}};
    check_close(run_all(file, inputs).front().values, expected, 1e-7);
    places[0] = 5;
    if (!circular) CHECK_THROWS_AS(run_all(file, inputs), Error);
  }
}

TEST_CASE("axes may be a range of known numbers") {
  OnnxFile file;
  file.input("x", {"A", "B", 4}).output("y").integers("one", {}, {1});
  file.node("Shape", {"x"}, {"shape"});
  file.node("Size", {"shape"}, {"rank"});
  file.node("Range", {"one", "rank", "one"}, {"axes"});
  set(file.node("ReduceSum", {"x", "axes"}, {"y"}), "keepdims", 0);
  std::vector<float> x = random_floats(2 * 3 * 4);
  Values expected(2);
  for (std::int64_t i = 0; i < 24; ++i) expected[static_cast<std::size_t>(i / 12)] += at(x, i);
  check_close(run_all(file, {{"x", Tensor::view(x.data(), {2, 3, 4})}}).front().values, expected);
}

TEST_CASE("imported gates and norms by the root mean square") {
  std::vector<float> x = random_floats(2 * 3 * 4), gate = random_floats(2 * 3 * 4),
                     scale = random_floats(12);
  const auto swish = [](double each, double alpha) { return each * sigmoid(alpha * each); };
  for (const double alpha : {1.0, 1.75}) {
    OnnxFile file(28);
    file.input("x", {"N", 3, 4}).input("g", {"N", 3, 4}).output("y").output("z");
    set_number(file.node("Swish", {"x"}, {"y"}), "alpha", static_cast<float>(alpha));
    set_number(file.node("SwiGLU", {"g", "x"}, {"z"}), "alpha", static_cast<float>(alpha));
    const std::vector<Result> results = run_all(
        file,
        {{"x", Tensor::view(x.data(), {2, 3, 4})}, {"g", Tensor::view(gate.data(), {2, 3, 4})}});
    Values y, z;
    for (std::int64_t i = 0; i < 24; ++i) {
      y.push_back(swish(at(x, i), alpha));
      z.push_back(swish(at(gate, i), alpha) * at(x, i));
    }
    check_close(results[0].values, y);
    check_close(results[1].values, z);
  }
  for (const std::int64_t axis : {-1, -2, 2}) {
    OnnxFile file(23);
    const std::int64_t count = axis == -2 ? 12 : 4;
    file.input("x", {"N", 3, 4})
        .output("y")
        .floats("w", axis == -2 ? std::vector<std::int64_t>{3, 4} : std::vector<std::int64_t>{4},
                {scale.begin(), scale.begin() + count});
    set_number(set(file.node("RMSNormalization", {"x", "w"}, {"y"}), "axis", axis), "epsilon",
               0.01F);
    Values expected;
    for (std::int64_t i = 0; i < 24; ++i) {
      double squares = 0;
      for (std::int64_t j = 0; j < count; ++j) {
        const double each = at(x, i / count * count + j);
        squares += each * each;
      }
      expected.push_back(at(x, i) / std::sqrt(squares / static_cast<double>(count) + 0.01F) *
                         at(scale, i % count));
    }
    check_close(run_all(file, {{"x", Tensor::view(x.data(), {2, 3, 4})}}).front().values, expected);
  }
}

}  // namespace dyn::testing::attention
