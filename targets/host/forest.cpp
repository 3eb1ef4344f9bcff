#include "targets/host/forest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace dyn::host {
namespace {

// The walk of a node depends on the walk of the one before it, and takes the latency of two loads
// and a comparison. So 16 walks go on at once, each of which has its next node without a branch
// that a processor could predict wrongly. A gather is as many loads and more instructions: vectors
// of walks are slower (docs/onnx.md). So this is plain C++, and needs no instruction set. Generated
// code with a branch for each node would be as large as the trees themselves, and be compiled at
// each load.
constexpr std::size_t walks = 16;
using Walks = std::make_index_sequence<walks>;

/// A node goes on to the node at place() + (x[column()] <= threshold) of its tree: the two children
/// are neighbours. A leaf goes on to itself: its column holds a NaN, and its threshold the tree's
/// answer. So a walk takes a fixed number of steps.
struct NarrowNode {
  using Number = float;
  float threshold;
  std::uint32_t link;  ///< the column in the low bits, the place above them

  std::uint32_t column(std::uint32_t mask) const { return link & mask; }
  std::uint32_t place(int column_bits) const { return link >> column_bits; }
};

/// For doubles, and for trees too large for 32 bits.
template <class T>
struct WideNode {
  using Number = T;
  T threshold;
  std::uint32_t column_, place_;

  std::uint32_t column(std::uint32_t) const { return column_; }
  std::uint32_t place(int) const { return place_; }
};

constexpr std::int32_t nowhere = -1;

bool is_leaf(std::int32_t feature) { return feature == -1; }
bool is_negated(std::int32_t feature) { return feature < -1; }
std::int32_t column_of(std::int32_t feature) {
  return is_negated(feature) ? -2 - feature : feature;
}

template <class T>
bool are_sound(const Trees<T>& trees) {
  const auto nodes = static_cast<std::int64_t>(trees.features.size()),
             weights = static_cast<std::int64_t>(trees.weights.size());
  const auto within = [](std::int64_t low, std::int64_t each, std::int64_t end) {
    return low <= each && each < end;
  };
  for (std::int64_t i = 0; i < nodes; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int32_t feature = trees.features[at], no = trees.children[2 * at],
                       yes = trees.children[2 * at + 1];
    if (is_leaf(feature) ? !within(0, no, weights + 1) || !within(no, yes, weights + 1)
                         : !within(i + 1, no, nodes) || !within(i + 1, yes, nodes))
      return false;
  }
  return std::ranges::all_of(trees.targets,
                             [&](std::int32_t each) { return within(0, each, trees.results); }) &&
         std::ranges::all_of(trees.roots,
                             [&](std::int32_t each) { return within(0, each, nodes); });
}

template <class T>
bool gives_one_number(const Trees<T>& trees) {
  for (std::size_t i = 0; i < trees.features.size(); ++i) {
    if (is_leaf(trees.features[i]) && trees.children[2 * i + 1] - trees.children[2 * i] != 1)
      return false;
  }
  return trees.results == 1;
}

/// The trees with the children of each node beside each other, node after node by their distance
/// from the root. A node with several parents has its place once, and a node without a question at
/// the other ones, from which the walk goes on to it; a leaf of one number stands at all of them.
class Layout {
 public:
  struct Slot {
    std::int32_t node;    ///< of Trees
    std::uint32_t place;  ///< where the walk goes on
    bool goes_on;         ///< without a question
  };
  struct Tree {
    std::size_t first;    ///< slot
    std::uint32_t steps;  ///< to the deepest leaf
  };

  template <class T>
  explicit Layout(const Trees<T>& trees) {
    if (!are_sound(trees)) return;
    copies_leaves_ = gives_one_number(trees);
    measure_heights(trees);
    places_.assign(trees.features.size(), nowhere);
    std::vector<std::int32_t> owners(trees.features.size(), nowhere);
    for (std::size_t i = 0; i < trees.roots.size(); ++i) {
      if (!place_tree(trees, static_cast<std::int32_t>(i), owners)) return;
    }
    is_sound_ = true;
  }

  bool is_sound() const { return is_sound_; }
  std::span<const Slot> slots() const { return slots_; }
  std::span<const Tree> trees() const { return trees_; }
  /// Of the slots of the largest tree.
  std::size_t most_slots() const { return most_slots_; }

 private:
  template <class T>
  bool is_copied(const Trees<T>& trees, std::size_t node) const {
    return copies_leaves_ && is_leaf(trees.features[node]);
  }

  /// Children stand behind their parents. A node of several parents is one step further from all
  /// but one of them.
  template <class T>
  void measure_heights(const Trees<T>& trees) {
    std::vector<std::uint8_t> parents(trees.features.size(), 0);
    for (std::size_t i = 0; i < parents.size(); ++i) {
      for (std::size_t k = 0; !is_leaf(trees.features[i]) && k < 2; ++k) {
        std::uint8_t& count = parents[static_cast<std::size_t>(trees.children[2 * i + k])];
        count = std::min<std::uint8_t>(count + 1, 2);
      }
    }
    heights_.assign(parents.size(), 0);
    for (std::size_t i = parents.size(); i-- > 0;) {
      for (std::size_t k = 0; !is_leaf(trees.features[i]) && k < 2; ++k) {
        const auto child = static_cast<std::size_t>(trees.children[2 * i + k]);
        const bool is_far = parents[child] > 1 && !is_copied(trees, child);
        heights_[i] = std::max(heights_[i], heights_[child] + (is_far ? 2 : 1));
      }
    }
  }

  /// False where another tree has one of its nodes.
  template <class T>
  bool place_tree(const Trees<T>& trees, std::int32_t tree, std::vector<std::int32_t>& owners) {
    const std::size_t first = slots_.size();
    const std::int32_t root = trees.roots[static_cast<std::size_t>(tree)];
    const auto add = [&](std::int32_t node) {
      const auto at = static_cast<std::size_t>(node);
      const auto here = static_cast<std::uint32_t>(slots_.size() - first);
      const bool is_placed = places_[at] != nowhere;
      if (is_placed && owners[at] != tree) return false;
      if (!is_placed) {
        owners[at] = tree;
        places_[at] = static_cast<std::int32_t>(here);
      }
      const bool goes_on = is_placed && !is_copied(trees, at);
      slots_.push_back({node, goes_on ? static_cast<std::uint32_t>(places_[at]) : here, goes_on});
      return true;
    };
    if (!add(root)) return false;
    for (std::size_t i = first; i < slots_.size(); ++i) {
      const auto node = static_cast<std::size_t>(slots_[i].node);
      if (slots_[i].goes_on || is_leaf(trees.features[node])) continue;
      slots_[i].place = static_cast<std::uint32_t>(slots_.size() - first);
      for (std::size_t k = 0; k < 2; ++k) {
        if (!add(trees.children[2 * node + k])) return false;
      }
    }
    most_slots_ = std::max(most_slots_, slots_.size() - first);
    trees_.push_back({first, heights_[static_cast<std::size_t>(root)]});
    return true;
  }

  std::vector<std::uint32_t> heights_;  ///< of nodes: steps to the deepest leaf below
  std::vector<std::int32_t> places_;    ///< of nodes
  std::vector<Slot> slots_;
  std::vector<Tree> trees_;
  std::size_t most_slots_ = 0;
  bool is_sound_ = false, copies_leaves_ = false;
};

/// The columns that the walk sees: those of x that a node asks for, a NaN, and the negatives of
/// those that are asked for so.
class Columns {
 public:
  template <class T>
  explicit Columns(const Trees<T>& trees) {
    for (const std::int32_t feature : trees.features) {
      if (!is_leaf(feature))
        (is_negated(feature) ? negated_ : plain_).push_back(column_of(feature));
    }
    for (std::vector<std::int32_t>* list : {&plain_, &negated_}) {
      std::ranges::sort(*list);
      list->erase(std::unique(list->begin(), list->end()), list->end());
      if (!list->empty()) least_ = std::max(least_, std::int64_t{list->back()} + 1);
    }
    are_first_ = !plain_.empty() && static_cast<std::size_t>(plain_.back()) + 1 == plain_.size();
  }

  std::int64_t least_of_x() const { return least_; }
  std::size_t count() const { return plain_.size() + 1 + negated_.size(); }
  std::uint32_t nan() const { return static_cast<std::uint32_t>(plain_.size()); }
  std::uint32_t of_feature(std::int32_t feature) const {
    return is_negated(feature) ? nan() + 1 + place(negated_, column_of(feature))
                               : place(plain_, feature);
  }

  template <class T>
  void fill(const T* x, T* row) const {
    if (are_first_)
      std::copy_n(x, plain_.size(), row);
    else
      for (std::size_t i = 0; i < plain_.size(); ++i) row[i] = x[plain_[i]];
    row[plain_.size()] = std::numeric_limits<T>::quiet_NaN();
    for (std::size_t i = 0; i < negated_.size(); ++i) row[plain_.size() + 1 + i] = -x[negated_[i]];
  }

 private:
  static std::uint32_t place(const std::vector<std::int32_t>& list, std::int32_t column) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(list, column) - list.begin());
  }

  std::vector<std::int32_t> plain_, negated_;  ///< columns of x, in order
  std::int64_t least_ = 0;
  bool are_first_ = false;  ///< plain: 0, 1, ...
};

template <class T>
struct Entry {
  std::int32_t target;
  T weight;
};

/// Number n of a leaf as a threshold: bits that are never those of a subnormal, which some
/// processors compare slowly.
template <class T>
struct LeafNumber {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr Bits zero = std::bit_cast<Bits>(T{1});
  static constexpr std::size_t most = std::size_t{1} << 30;
  static T threshold(std::size_t number) {
    return std::bit_cast<T>(static_cast<Bits>(zero + static_cast<Bits>(number)));
  }
  static std::size_t number(T threshold) {
    return static_cast<std::size_t>(std::bit_cast<Bits>(threshold) - zero);
  }
};

/// A result that no weight has reached yet is a NaN for Min and Max.
template <Aggregate aggregate, class T>
void join(T& result, T weight) {
  if constexpr (aggregate == Aggregate::Sum)
    result += weight;
  else if (std::isnan(result) || (aggregate == Aggregate::Min ? weight < result : weight > result))
    result = weight;
}

template <class Node>
class PackedForest final : public Forest<typename Node::Number> {
 public:
  using T = typename Node::Number;

  PackedForest(const Trees<T>& trees, const Layout& layout, Columns columns, int column_bits,
               Aggregate aggregate)
      : columns_(std::move(columns)),
        column_bits_(column_bits),
        mask_((std::uint32_t{1} << column_bits) - 1),
        results_(static_cast<std::size_t>(trees.results)),
        aggregate_(aggregate),
        is_single_(gives_one_number(trees)) {
    if (!is_single_) first_entries_.push_back(0);
    nodes_.reserve(layout.slots().size());
    for (const Layout::Slot& slot : layout.slots()) nodes_.push_back(node_of(trees, slot));
    for (const Layout::Tree& tree : layout.trees())
      trees_.push_back({nodes_.data() + tree.first, tree.steps});
  }

  std::int64_t least_columns() const override { return columns_.least_of_x(); }

  void run(const T* x, std::int64_t rows, std::int64_t columns, T* results) const override {
    switch (aggregate_) {
      case Aggregate::Sum: return run_blocks<Aggregate::Sum>(x, rows, columns, results);
      case Aggregate::Min: return run_blocks<Aggregate::Min>(x, rows, columns, results);
      case Aggregate::Max: return run_blocks<Aggregate::Max>(x, rows, columns, results);
    }
  }

 private:
  struct Tree {
    const Node* nodes;
    std::uint32_t steps;
  };

  Node node_of(const Trees<T>& trees, const Layout::Slot& slot) {
    const auto node = static_cast<std::size_t>(slot.node);
    const std::int32_t feature = trees.features[node];
    if (slot.goes_on) return make_node(0, columns_.nan(), slot.place);
    if (!is_leaf(feature))
      return make_node(trees.thresholds[node], columns_.of_feature(feature), slot.place);
    const auto first = static_cast<std::size_t>(trees.children[2 * node]),
               end = static_cast<std::size_t>(trees.children[2 * node + 1]);
    if (is_single_) return make_node(trees.weights[first], columns_.nan(), slot.place);
    for (std::size_t i = first; i < end; ++i)
      entries_.push_back({trees.targets[i], trees.weights[i]});
    first_entries_.push_back(entries_.size());
    return make_node(LeafNumber<T>::threshold(first_entries_.size() - 2), columns_.nan(),
                     slot.place);
  }

  Node make_node(T threshold, std::uint32_t column, std::uint32_t place) const {
    if constexpr (std::is_same_v<Node, NarrowNode>)
      return {threshold, place << column_bits_ | column};
    else
      return {threshold, column, place};
  }

  /// So many rows that they stay in the second cache while all trees walk them: each block of rows
  /// reads the forest, which may be larger than every cache.
  std::int64_t block_rows() const {
    constexpr std::int64_t cache_bytes = 1 << 18, least = 16, most = 4096;
    return std::clamp(cache_bytes / static_cast<std::int64_t>(columns_.count() * sizeof(T)), least,
                      most);
  }

  template <Aggregate aggregate>
  void run_blocks(const T* x, std::int64_t rows, std::int64_t columns, T* results) const {
    const std::int64_t most = std::min(rows, block_rows());
    std::vector<T> block(static_cast<std::size_t>(most) * columns_.count());
    for (std::int64_t first = 0; first < rows; first += most) {
      const auto count = static_cast<std::size_t>(std::min(most, rows - first));
      T* of_block = results + first * static_cast<std::int64_t>(results_);
      for (std::size_t i = 0; i < count; ++i)
        columns_.fill(x + (first + static_cast<std::int64_t>(i)) * columns,
                      block.data() + i * columns_.count());
      constexpr T start = aggregate == Aggregate::Sum ? T{0} : std::numeric_limits<T>::quiet_NaN();
      std::fill_n(of_block, count * results_, start);
      run_block<aggregate>(block.data(), count, of_block);
      if (aggregate != Aggregate::Sum)
        std::replace_if(
            of_block, of_block + count * results_, [](T each) { return std::isnan(each); }, T{0});
    }
  }

  /// Each row meets the trees in their order, so that its sums do not depend on other rows.
  template <Aggregate aggregate>
  void run_block(const T* rows, std::size_t count, T* results) const {
    const std::size_t whole = count / walks * walks, columns = columns_.count();
    std::array<const T*, walks> row{};
    std::array<const Node*, walks> nodes{};
    for (const Tree& tree : trees_) {
      nodes.fill(tree.nodes);
      for (std::size_t first = 0; first < whole; first += walks) {
        for (std::size_t k = 0; k < walks; ++k) row[k] = rows + (first + k) * columns;
        const std::array<T, walks> answers = answers_of(nodes, row, tree.steps);
        for (std::size_t k = 0; k < walks; ++k)
          take<aggregate>(answers[k], results + (first + k) * results_);
      }
    }
    run_pairs<aggregate>(rows + whole * columns, count - whole, results + whole * results_);
  }

  /// Walks many trees at once, for a few rows.
  template <Aggregate aggregate>
  void run_pairs(const T* rows, std::size_t count, T* results) const {
    const std::size_t pairs = count * trees_.size();
    std::array<const T*, walks> row{};
    std::array<const Node*, walks> nodes{};
    std::array<T*, walks> result{};
    std::size_t tree = 0;
    for (std::size_t first = 0; first < pairs; first += walks) {
      const std::size_t taken = std::min(walks, pairs - first);
      std::uint32_t steps = 0;
      for (std::size_t k = 0; k < walks; ++k) {
        if (k < taken) {
          nodes[k] = trees_[tree].nodes;
          steps = std::max(steps, trees_[tree].steps);
          row[k] = rows;
          result[k] = results;
          if (++tree == trees_.size()) {
            tree = 0;
            rows += columns_.count();
            results += results_;
          }
        } else {
          nodes[k] = nodes[0];
          row[k] = row[0];
        }
      }
      const std::array<T, walks> answers = answers_of(nodes, row, steps);
      for (std::size_t k = 0; k < taken; ++k) take<aggregate>(answers[k], result[k]);
    }
  }

  /// Every fourth step looks if all walks are at leaves, which deep trees with few long branches
  /// are long before the end.
  std::array<T, walks> answers_of(const std::array<const Node*, walks>& nodes,
                                  const std::array<const T*, walks>& rows,
                                  std::uint32_t steps) const {
    constexpr std::uint32_t checked = 4;
    std::array<std::uint32_t, walks> at{};
    for (; steps > checked; steps -= checked) {
      for (std::uint32_t i = 1; i < checked; ++i) step(nodes, rows, at, Walks());
      const std::array<std::uint32_t, walks> before = at;
      step(nodes, rows, at, Walks());
      if (at == before) break;
    }
    if (steps <= checked) {
      for (; steps > 0; --steps) step(nodes, rows, at, Walks());
    }
    std::array<T, walks> answers;
    for (std::size_t k = 0; k < walks; ++k) answers[k] = nodes[k][at[k]].threshold;
    return answers;
  }

  /// Unrolled: a loop would be turned into shuffles of vectors.
  template <std::size_t... k>
  void step(const std::array<const Node*, walks>& nodes, const std::array<const T*, walks>& rows,
            std::array<std::uint32_t, walks>& at, std::index_sequence<k...>) const {
    ((at[k] = next(nodes[k][at[k]], rows[k])), ...);
  }

  std::uint32_t next(const Node& node, const T* row) const {
    return node.place(column_bits_) +
           static_cast<std::uint32_t>(row[node.column(mask_)] <= node.threshold);
  }

  template <Aggregate aggregate>
  void take(T answer, T* results) const {
    if (is_single_) return join<aggregate>(*results, answer);
    const std::size_t leaf = LeafNumber<T>::number(answer);
    for (std::size_t i = first_entries_[leaf]; i < first_entries_[leaf + 1]; ++i)
      join<aggregate>(results[entries_[i].target], entries_[i].weight);
  }

  const Columns columns_;
  const int column_bits_;
  const std::uint32_t mask_;
  const std::size_t results_;
  const Aggregate aggregate_;
  const bool is_single_;  ///< a leaf's threshold is its weight, else its number
  std::vector<Node> nodes_;
  std::vector<Tree> trees_;
  std::vector<std::size_t> first_entries_;  ///< of leaves
  std::vector<Entry<T>> entries_;
};

}  // namespace

template <class T>
std::unique_ptr<const Forest<T>> make_forest(const Trees<T>& trees, Aggregate aggregate) {
  const Layout layout(trees);
  if (!layout.is_sound() || layout.slots().size() > LeafNumber<T>::most) return nullptr;
  Columns columns(trees);
  if constexpr (std::is_same_v<T, float>) {
    const int bits = std::bit_width(columns.count() - 1);
    if (bits + std::bit_width(layout.most_slots()) <= 32)
      return std::make_unique<PackedForest<NarrowNode>>(trees, layout, std::move(columns), bits,
                                                        aggregate);
  }
  return std::make_unique<PackedForest<WideNode<T>>>(trees, layout, std::move(columns), 0,
                                                     aggregate);
}

template std::unique_ptr<const Forest<float>> make_forest(const Trees<float>&, Aggregate);
template std::unique_ptr<const Forest<double>> make_forest(const Trees<double>&, Aggregate);

}  // namespace dyn::host
