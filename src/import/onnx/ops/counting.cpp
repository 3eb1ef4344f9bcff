// Counts of n-grams, and determinants.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"
#include "src/import/onnx/texts/text_lookup.hpp"

namespace dyn::onnx {
namespace {

/// The column of each n-gram of one length; of equal ones the last counts.
using GramColumns = std::map<Integers, std::int64_t>;

/// The n-grams of the lengths that count, by length.
struct Vocabulary {
  std::int64_t shortest = 1;
  std::vector<GramColumns> by_length;
  std::int64_t columns = 0;
};

struct VocabularyLists {
  Integers pool, starts, columns;
};

/// The node's input; of texts, their places.
TensorExpr items_expr(NodeContext& node) {
  return {node, node.texts(0) != nullptr ? node.places_of_texts(0) : node.value(0)};
}

VocabularyLists vocabulary_lists(NodeContext& node) {
  const auto list = [&](const char* name) {
    const auto given = node.integers(name);
    if (!given || given->empty()) node.fail(fmt::format("it needs {}", name));
    return *given;
  };
  const bool are_texts = node.texts(0) != nullptr;
  const TextVector words = node.words("pool_strings");
  if (are_texts == words.empty())
    node.fail(are_texts ? "its input holds texts, but it has no pool_strings"
                        : "it has pool_strings, but its input holds numbers");
  VocabularyLists lists{are_texts ? elements_of_keys(node, words) : list("pool_int64s"),
                        list("ngram_counts"), list("ngram_indexes")};
  const auto size = static_cast<std::int64_t>(lists.pool.size());
  lists.starts.push_back(size);
  for (std::size_t i = 0; i + 1 < lists.starts.size(); ++i) {
    const std::int64_t items = lists.starts[i + 1] - lists.starts[i],
                       length = static_cast<std::int64_t>(i) + 1;
    if (lists.starts[i] < 0 || items < 0 || lists.starts[i + 1] > size || items % length != 0)
      node.fail(fmt::format("ngram_counts: the {}-grams lie at {} to {} of {} items", length,
                            lists.starts[i], lists.starts[i + 1], size));
  }
  return lists;
}

Vocabulary vocabulary_of(NodeContext& node) {
  const VocabularyLists lists = vocabulary_lists(node);
  const std::int64_t shortest = node.integer("min_gram_length", 1),
                     longest = node.integer("max_gram_length", 1);
  if (shortest < 1 || longest < shortest)
    node.fail(fmt::format("its n-grams have {} to {} items", shortest, longest));
  Vocabulary vocabulary{shortest, {}, 0};
  std::size_t gram = 0;
  for (std::size_t i = 0; i + 1 < lists.starts.size(); ++i) {
    const std::int64_t length = static_cast<std::int64_t>(i) + 1;
    const bool counts = length >= shortest && length <= longest;
    if (counts) vocabulary.by_length.emplace_back();
    for (std::int64_t at = lists.starts[i]; at < lists.starts[i + 1]; at += length, ++gram) {
      if (gram >= lists.columns.size())
        node.fail(fmt::format("ngram_indexes has {} elements, but there are more n-grams",
                              lists.columns.size()));
      if (!counts) continue;
      const auto first = lists.pool.begin() + at;
      vocabulary.by_length.back()[{first, first + length}] = lists.columns[gram];
    }
  }
  const auto [least, greatest] = std::ranges::minmax(lists.columns);
  constexpr std::int64_t most_columns = std::int64_t{1} << 31;
  if (least < 0 || greatest >= most_columns)
    node.fail(fmt::format("ngram_indexes are {} to {}", least, greatest));
  vocabulary.columns = greatest + 1;
  return vocabulary;
}

TensorExpr counted(NodeContext& node, const Vocabulary& vocabulary) {
  Integers items, columns, counts;
  for (const GramColumns& grams : vocabulary.by_length) {
    for (const auto& [gram, column] : grams) {
      items.insert(items.end(), gram.begin(), gram.end());
      columns.push_back(column);
    }
    counts.push_back(static_cast<std::int64_t>(grams.size()));
  }
  const std::int64_t skips = node.integer("max_skip_count", 0);
  if (skips < 0) node.fail(fmt::format("max_skip_count is {}", skips));
  const auto list = [&](const Integers& elements) {
    return integers(node, {static_cast<std::int64_t>(elements.size())}, elements);
  };
  return apply("count_ngrams", {items_expr(node), list(items), list(columns)},
               {node.dim("shortest", vocabulary.shortest), node.integer_list("counts", counts),
                node.dim("skips", skips), node.dim("columns", vocabulary.columns)});
}

void convert_tf_idf(NodeContext& node) {
  const std::string mode = node.word("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    node.fail(fmt::format("its mode must be TF, IDF or TFIDF, not \"{}\"", mode));
  if (const int rank = items_expr(node).rank(); rank != 1 && rank != 2)
    node.fail(fmt::format("its input has {} dims, not 1 or 2", rank));
  const Vocabulary vocabulary = vocabulary_of(node);
  TensorExpr result = counted(node, vocabulary);
  if (mode == "IDF") result = minimum(result, 1.0);
  const AttributeProto* weights = node.attribute("weights");
  if (mode != "TF" && weights != nullptr && weights->floats_size() > 0) {
    if (weights->floats_size() < vocabulary.columns)
      node.fail(fmt::format("it has {} weights for {} columns", weights->floats_size(),
                            vocabulary.columns));
    const std::vector<float> used(weights->floats().begin(),
                                  weights->floats().begin() + vocabulary.columns);
    result = result * floats(node, {vocabulary.columns}, used);
  }
  node.give(result.id());
}

void convert_det(NodeContext& node) { node.give(node.add("det", {node.value(0)})); }

}  // namespace

Family counting_operators() { return {{"TfIdfVectorizer", convert_tf_idf}, {"Det", convert_det}}; }

}  // namespace dyn::onnx
