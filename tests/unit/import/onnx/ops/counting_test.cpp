// Imported counts of n-grams and determinants, beside plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "dyn/error.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::counting {
namespace {

using Integers = std::vector<std::int64_t>;

struct Vocabulary {
  Integers pool, starts, columns;
  std::vector<Integers> grams;
};

/// Distinct n-grams of 1, 2 and 3 items below 4, in any order of their columns.
Vocabulary draw(std::mt19937_64& random) {
  Vocabulary v;
  std::uniform_int_distribution<std::int64_t> item(0, 3), count(0, 5);
  for (std::size_t length = 1; length <= 3; ++length) {
    v.starts.push_back(static_cast<std::int64_t>(v.pool.size()));
    for (std::int64_t wanted = count(random) + 1; wanted > 0; --wanted) {
      Integers gram(length);
      for (std::int64_t& each : gram) each = item(random);
      if (std::ranges::find(v.grams, gram) != v.grams.end()) continue;
      v.pool.insert(v.pool.end(), gram.begin(), gram.end());
      v.grams.push_back(gram);
    }
  }
  v.columns.resize(v.grams.size());
  std::iota(v.columns.begin(), v.columns.end(), 1);
  std::ranges::shuffle(v.columns, random);
  return v;
}

/// How often each n-gram of `shortest` to `longest` items occurs in a row, by column.
Values counted(const Vocabulary& v, const Integers& row, std::size_t shortest, std::size_t longest,
               std::size_t skips) {
  Values counts(v.columns.size() + 1);
  for (std::size_t g = 0; g < v.grams.size(); ++g) {
    const Integers& gram = v.grams[g];
    if (gram.size() < shortest || gram.size() > longest) continue;
    for (std::size_t distance = 1; distance <= (gram.size() == 1 ? 1 : skips + 1); ++distance) {
      for (std::size_t start = 0; start + (gram.size() - 1) * distance < row.size(); ++start) {
        bool is_it = true;
        for (std::size_t i = 0; i < gram.size(); ++i)
          is_it = is_it && row[start + i * distance] == gram[i];
        counts[static_cast<std::size_t>(v.columns[g])] += is_it ? 1 : 0;
      }
    }
  }
  return counts;
}

double determinant(const Values& m, std::size_t n) {
  if (n == 0) return 1;
  double sum = 0;
  for (std::size_t column = 0; column < n; ++column) {
    Values minor;
    for (std::size_t i = 1; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (j != column) minor.push_back(m[i * n + j]);
    sum += (column % 2 == 0 ? 1 : -1) * m[column] * determinant(minor, n - 1);
  }
  return sum;
}

}  // namespace

TEST_CASE("imported counts of n-grams: lengths, skips and weights") {
  INFO("DYN_SEED=", test_seed());
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < test_rounds(40, 4); ++round) {
    CAPTURE(round);
    const Vocabulary v = draw(random);
    const char* mode = round % 3 == 0 ? "TF" : round % 3 == 1 ? "IDF" : "TFIDF";
    const std::int64_t shortest = 1 + round % 2, longest = shortest + round % 3 % 2 + round / 2 % 2,
                       skips = round % 4;
    OnnxFile file;
    file.input("x", {"B", "C"}, onnx::TensorProto::INT64).output("y");
    onnx::NodeProto& node = file.node("TfIdfVectorizer", {"x"}, {"y"});
    set_word(node, "mode", mode);
    set(node, "min_gram_length", shortest);
    set(node, "max_gram_length", longest);
    set(node, "max_skip_count", skips);
    set_list(node, "pool_int64s", v.pool);
    set_list(node, "ngram_counts", v.starts);
    set_list(node, "ngram_indexes", v.columns);
    const std::vector<float> weights = random_floats(v.columns.size() + 1);
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("weights");
    attribute.set_type(onnx::AttributeProto::FLOATS);
    for (const float each : weights) attribute.add_floats(each);
    const Graph graph = load(file);
    for (const std::int64_t length : {0, 1, 2, 23}) {
      CAPTURE(length);
      constexpr std::int64_t batch = 3;
      Integers x(static_cast<std::size_t>(batch * length));
      for (std::int64_t& each : x) each = std::uniform_int_distribution<std::int64_t>(0, 3)(random);
      Values expected;
      for (std::int64_t b = 0; b < batch; ++b) {
        const Integers row(x.begin() + b * length, x.begin() + (b + 1) * length);
        Values counts = counted(v, row, static_cast<std::size_t>(shortest),
                                static_cast<std::size_t>(longest), static_cast<std::size_t>(skips));
        for (std::size_t i = 0; i < counts.size(); ++i) {
          if (std::string(mode) == "IDF") counts[i] = std::min(counts[i], 1.0);
          if (std::string(mode) != "TF") counts[i] *= static_cast<double>(weights[i]);
        }
        expected.insert(expected.end(), counts.begin(), counts.end());
      }
      const NamedTensors inputs{
          {"x", Tensor::from(std::span<const std::int64_t>(x), {batch, length})}};
      check_close(run_all(graph, inputs).front().values, expected, 1e-6);
    }
  }
}

TEST_CASE("a vocabulary whose lists do not fit each other is refused") {
  const auto refused = [](const Integers& pool, const Integers& starts, const Integers& columns,
                          const char* message) {
    OnnxFile file;
    file.input("x", {"C"}, onnx::TensorProto::INT64).output("y");
    onnx::NodeProto& node = file.node("TfIdfVectorizer", {"x"}, {"y"});
    set_word(node, "mode", "TF");
    set(node, "min_gram_length", 1);
    set(node, "max_gram_length", 2);
    set(node, "max_skip_count", 0);
    set_list(node, "pool_int64s", pool);
    set_list(node, "ngram_counts", starts);
    set_list(node, "ngram_indexes", columns);
    CHECK_THROWS_WITH_AS(load(file), doctest::Contains(message), Error);
  };
  refused({1, 2, 3}, {0, 1}, {0}, "ngram_indexes has 1 elements");
  refused({1, 2, 3}, {0, 2}, {0, 1, 2}, "ngram_counts");
  refused({1, 2, 3}, {0, 7}, {0, 1, 2}, "ngram_counts");
  refused({1, 2}, {0, 2}, {0, -1}, "ngram_indexes are -1");
}

TEST_CASE("imported determinants, of singular and empty matrices too") {
  for (const std::int64_t n : {0, 1, 2, 3, 6}) {
    CAPTURE(n);
    constexpr std::int64_t batch = 3;
    OnnxFile file;
    file.input("x", {"B", "N", "N"}).output("y");
    file.node("Det", {"x"}, {"y"});
    std::vector<float> x = random_floats(static_cast<std::size_t>(batch * n * n));
    // The second one has two equal rows.
    for (std::int64_t j = 0; n > 1 && j < n; ++j)
      x[static_cast<std::size_t>(n * n + (n - 1) * n + j)] = x[static_cast<std::size_t>(n * n + j)];
    Values expected;
    for (std::int64_t b = 0; b < batch; ++b)
      expected.push_back(determinant(Values(x.begin() + b * n * n, x.begin() + (b + 1) * n * n),
                                     static_cast<std::size_t>(n)));
    const NamedTensors inputs{{"x", Tensor::from(std::span<const float>(x), {batch, n, n})}};
    const Values actual = run_all(file, inputs).front().values;
    double scale = 1;
    for (const double each : expected) scale = std::max(scale, std::abs(each));
    for (std::size_t i = 0; i < actual.size(); ++i)
      CHECK(std::abs(actual[i] - expected[i]) <= 1e-5 * scale);
  }
}

}  // namespace dyn::testing::counting
