#include "src/import/onnx/ops/ml/trees.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace dyn::onnx {
namespace {

/// The nodes that roots reach, tree after tree, parents before their children. A file may nest
/// nodes as deeply as it likes.
class TreeOrder {
 public:
  TreeOrder(NodeContext& node, const TreeEnsemble& ensemble)
      : node_(node), ensemble_(ensemble), trees_(ensemble.nodes.size(), none) {
    is_done_.resize(ensemble.nodes.size());
    for (std::size_t i = 0; i < ensemble.roots.size(); ++i) {
      const std::size_t first = order_.size();
      visit(ensemble.roots[i], static_cast<std::uint32_t>(i));
      std::reverse(order_.begin() + static_cast<std::ptrdiff_t>(first), order_.end());
    }
  }

  const std::vector<std::uint32_t>& nodes() const { return order_; }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  struct Visit {
    std::uint32_t node;
    int next = 0;  ///< child
  };

  void visit(std::uint32_t root, std::uint32_t tree) {
    enter(root, tree);
    while (!open_.empty()) {
      Visit& top = open_.back();
      const TreeNode& node = ensemble_.nodes[top.node];
      if (node.mode == TreeMode::Leaf || top.next == 2) {
        is_done_[top.node] = true;
        order_.push_back(top.node);
        open_.pop_back();
      } else {
        enter(top.next++ == 0 ? node.yes : node.no, tree);
      }
    }
  }

  void enter(std::uint32_t node, std::uint32_t tree) {
    if (trees_[node] == none) {
      trees_[node] = tree;
      open_.push_back({node});
    } else if (trees_[node] != tree) {
      node_.fail(fmt::format("{} belongs to two trees", ensemble_.name_of(node)));
    } else if (!is_done_[node]) {
      node_.fail(fmt::format("{} follows itself: its tree has a circle", ensemble_.name_of(node)));
    }
  }

  NodeContext& node_;
  const TreeEnsemble& ensemble_;
  std::vector<std::uint32_t> trees_;  ///< of nodes
  std::vector<bool> is_done_;
  std::vector<Visit> open_;
  std::vector<std::uint32_t> order_;
};

/// The operands of tree_ensemble, in whose nodes a NaN always goes to `no`. T is the dtype of x.
template <class T>
class TreeWriter {
 public:
  TreeWriter(const TreeEnsemble& ensemble, const std::vector<std::uint32_t>& order)
      : ensemble_(ensemble), places_(ensemble.nodes.size(), 0) {
    count_parents(order);
    for (const std::uint32_t node : order) {
      if (parents_[node] == in_chain) continue;
      places_[node] = end();
      write(ensemble.nodes[node]);
    }
    for (const auto& [slot, node] : open_) children_[slot] = places_[node];
    for (const std::uint32_t root : ensemble.roots) roots_.push_back(places_[root]);
  }

  ValueId apply_to(const TensorExpr& x, std::string_view aggregate) const {
    NodeContext& node = x.node();
    const auto count = static_cast<std::int64_t>(features_.size()),
               weights = static_cast<std::int64_t>(ensemble_.weights.size());
    const auto integers = [&](const char* name, const std::vector<std::int32_t>& list,
                              const Integers& dims) {
      return constant_expr(node, DType::i32, dims, list, name);
    };
    const std::vector<T> answers(ensemble_.weights.begin(), ensemble_.weights.end());
    return apply("tree_ensemble",
                 {x, integers("roots", roots_, {static_cast<std::int64_t>(roots_.size())}),
                  integers("features", features_, {count}),
                  constant_expr(node, x.dtype(), {count}, thresholds_, "thresholds"),
                  integers("children", children_, {count, 2}),
                  integers("targets", ensemble_.targets, {weights}),
                  constant_expr(node, x.dtype(), {weights}, answers, "weights")},
                 {node.dim("results", ensemble_.results), {"aggregate", std::string(aggregate)}})
        .id();
  }

 private:
  /// A node of the file, or one that is written.
  struct Child {
    std::uint32_t node;
    bool is_written = false;
  };

  std::int32_t end() const { return static_cast<std::int32_t>(features_.size()); }
  Child behind(std::int32_t distance) const {
    return {static_cast<std::uint32_t>(end() + distance), true};
  }

  void write(const TreeNode& node) {
    const Child yes{node.yes}, no{node.no};
    const auto t = static_cast<T>(node.threshold);
    switch (node.mode) {
      case TreeMode::Leq:
        return node.nan_is_yes ? ask_negated(node, below(-t), yes, no) : ask(node, t, no, yes);
      case TreeMode::Lt:
        return node.nan_is_yes ? ask_negated(node, -t, yes, no) : ask(node, below(t), no, yes);
      case TreeMode::Gte:
        return node.nan_is_yes ? ask(node, below(t), yes, no) : ask_negated(node, -t, no, yes);
      case TreeMode::Gt:
        return node.nan_is_yes ? ask(node, t, yes, no) : ask_negated(node, below(-t), no, yes);
      case TreeMode::Eq:
      case TreeMode::Neq: return write_chain(node);
      case TreeMode::Member: return write_member(node, no, yes);
      case TreeMode::Leaf:
        return add(-1, 0, {static_cast<std::uint32_t>(node.first), true}, {node.end, true});
    }
  }

  /// x <= t ? yes : no.
  void ask(const TreeNode& node, T t, Child no, Child yes) { add(node.feature, t, no, yes); }
  /// -x <= t ? yes : no.
  void ask_negated(const TreeNode& node, T t, Child no, Child yes) {
    add(-2 - node.feature, t, no, yes);
  }
  /// A NaN goes to `child`, all else to what is written next.
  void send_nan_to(const TreeNode& node, Child child) {
    ask(node, std::numeric_limits<T>::infinity(), child, behind(1));
  }

  /// The child where x is the number.
  struct Case {
    T number;
    Child child;
  };

  /// As many steps as the number of cases has digits, and two, are enough: where x is none of the
  /// numbers, or a NaN, `none` follows.
  void write_cases(const TreeNode& node, std::vector<Case> cases, Child none) {
    std::ranges::stable_sort(cases, {}, &Case::number);
    const auto twice = std::ranges::unique(cases, {}, &Case::number);
    cases.erase(twice.begin(), twice.end());
    if (cases.empty()) return ask(node, std::numeric_limits<T>::quiet_NaN(), none, none);
    struct Range {
      std::size_t first, end;
      std::size_t slot;  ///< of the child that it becomes
    };
    const Child later{0, true};
    std::vector<Range> ranges{{0, cases.size(), children_.size()}};
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const auto [first, last, slot] = ranges[i];
      if (i > 0) children_[slot] = end();
      const T number = cases[first].number;
      if (last - first == 1) {
        ask(node, number, none, behind(1));
        ask_negated(node, -number, none, cases[first].child);
        continue;
      }
      const std::size_t middle = first + (last - first) / 2, slots = children_.size();
      ask(node, cases[middle - 1].number, later, later);
      ranges.push_back({middle, last, slots});
      ranges.push_back({first, middle, slots + 1});
    }
  }

  void write_member(const TreeNode& node, Child no, Child yes) {
    if (node.nan_is_yes) send_nan_to(node, yes);
    std::vector<Case> cases;
    for (std::uint32_t i = node.first; i < node.end; ++i) {
      const auto member = static_cast<T>(ensemble_.members[i]);
      if (!std::isnan(member)) cases.push_back({member, yes});
    }
    write_cases(node, std::move(cases), no);
  }

  /// The node that follows where x is no NaN and not the number that an Eq or Neq asks for.
  static std::uint32_t other_of(const TreeNode& node) {
    return node.mode == TreeMode::Eq ? node.no : node.yes;
  }

  /// Nodes that ask one feature for one number after the other, of which only the first can be
  /// reached from elsewhere: exporters write a set of categories so.
  void write_chain(const TreeNode& node) {
    std::vector<Case> cases;
    const TreeNode* each = &node;
    while (true) {
      cases.push_back({static_cast<T>(each->threshold),
                       Child{each->mode == TreeMode::Eq ? each->yes : each->no}});
      const std::uint32_t other = other_of(*each);
      const TreeNode& next = ensemble_.nodes[other];
      const bool goes_on = (next.mode == TreeMode::Eq || next.mode == TreeMode::Neq) &&
                           next.feature == node.feature && parents_[other] == 1 &&
                           !sends_nan(*each) && !sends_nan(next);
      if (!goes_on) break;
      parents_[other] = in_chain;
      each = &next;
    }
    if (sends_nan(node)) send_nan_to(node, {node.yes});
    write_cases(node, std::move(cases), {other_of(*each)});
  }

  /// A NaN differs from all numbers, so that a Neq has it go the same way in any case.
  static bool sends_nan(const TreeNode& node) {
    return node.mode == TreeMode::Eq && node.nan_is_yes;
  }

  void count_parents(const std::vector<std::uint32_t>& order) {
    constexpr std::uint8_t many = 2;
    parents_.assign(ensemble_.nodes.size(), 0);
    const auto count = [&](std::uint32_t node) {
      parents_[node] = std::min<std::uint8_t>(parents_[node] + 1, many);
    };
    for (const std::uint32_t root : ensemble_.roots) count(root);
    for (const std::uint32_t each : order) {
      const TreeNode& node = ensemble_.nodes[each];
      if (node.mode == TreeMode::Leaf) continue;
      count(node.yes);
      count(node.no);
    }
  }

  /// The greatest number below t; a NaN, below which nothing lies, where there is none.
  static T below(T t) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    return t == -infinity ? std::numeric_limits<T>::quiet_NaN() : std::nextafter(t, -infinity);
  }

  void add(std::int32_t feature, T threshold, Child no, Child yes) {
    features_.push_back(feature);
    thresholds_.push_back(threshold);
    for (const Child child : {no, yes}) {
      if (!child.is_written) open_.push_back({children_.size(), child.node});
      children_.push_back(static_cast<std::int32_t>(child.node));
    }
  }

  static constexpr std::uint8_t in_chain = 255;

  const TreeEnsemble& ensemble_;
  std::vector<std::int32_t> places_;   ///< of the file's nodes
  std::vector<std::uint8_t> parents_;  ///< of the file's nodes: none, one or many; or in_chain
  std::vector<std::int32_t> roots_, features_, children_;
  std::vector<T> thresholds_;
  std::vector<std::pair<std::size_t, std::uint32_t>>
      open_;  ///< slots of children_, and their nodes
};

void require_questions(const TensorExpr& x, const TreeEnsemble& ensemble,
                       const std::vector<std::uint32_t>& order) {
  const std::int64_t columns =
      x.dims().back().constant().value_or(std::numeric_limits<std::int64_t>::max());
  for (const std::uint32_t each : order) {
    const TreeNode& node = ensemble.nodes[each];
    if (node.mode == TreeMode::Leaf) continue;
    if (node.feature < 0 || node.feature >= columns)
      x.node().fail(fmt::format("{} asks for feature {}, but its input has {}",
                                ensemble.name_of(each), node.feature, to_string(x.dims().back())));
    if (std::isnan(node.threshold) && node.mode != TreeMode::Member)
      x.node().fail(fmt::format("{} compares with a NaN", ensemble.name_of(each)));
  }
}

}  // namespace

TensorExpr rows_of_input(NodeContext& node) {
  const TensorExpr given = input_expr(node, 0);
  const TensorExpr x = given.dtype() == DType::f64 ? given : cast(given, DType::f32);
  if (x.rank() == 1) return unsqueeze(x, 0);
  if (x.rank() != 2)
    node.fail(fmt::format("its input must have rows and columns, but has {} dims", x.rank()));
  return x;
}

TensorExpr walk_trees(const TensorExpr& x, const TreeEnsemble& ensemble,
                      std::string_view aggregate) {
  NodeContext& node = x.node();
  const TreeOrder order(node, ensemble);
  require_questions(x, ensemble, order.nodes());
  if (x.dtype() == DType::f64)
    return {node, TreeWriter<double>(ensemble, order.nodes()).apply_to(x, aggregate)};
  return {node, TreeWriter<float>(ensemble, order.nodes()).apply_to(x, aggregate)};
}

}  // namespace dyn::onnx
