#include "src/import/onnx/counted_loop.hpp"

#include <cmath>
#include <vector>

#include "graph/ir/op.hpp"

namespace dyn::onnx {
namespace {

using graph::Builder;
using graph::Dim;
using graph::OpId;
using graph::ValueId;

/// Beyond it, sums of these might not fit.
constexpr std::int64_t most_number = std::int64_t{1} << 40;

/// nullptr for a value that no node makes.
const graph::Node* producer_of(const Builder& graph, ValueId id) {
  const int producer = graph.value(id).producer;
  return producer < 0 ? nullptr : &graph.node(producer);
}

/// The value before casts and changes of shape, which keep a number that is no fraction.
ValueId number_behind(const Builder& graph, ValueId id) {
  for (const graph::Node* node = producer_of(graph, id);
       node != nullptr && (node->op->id == OpId::Cast || node->op->id == OpId::Reshape);
       node = producer_of(graph, id))
    id = node->inputs[0];
  return id;
}

std::optional<std::int64_t> whole_number(const Builder& graph, ValueId id) {
  const graph::Value& value = graph.value(number_behind(graph, id));
  if (value.kind != graph::ValueKind::Constant) return std::nullopt;
  const double number =
      is_float(value.type.dtype) ? value.constant : static_cast<double>(value.integer);
  if (number != std::trunc(number) || std::abs(number) > static_cast<double>(most_number))
    return std::nullopt;
  return static_cast<std::int64_t>(number);
}

/// A number, or a size as a range of one element.
std::optional<Dim> size_of(const Builder& graph, ValueId id, graph::DimTable& dims) {
  if (const auto number = whole_number(graph, id)) return dims.constant(*number);
  const graph::Node* node = producer_of(graph, number_behind(graph, id));
  if (node == nullptr || node->op->id != OpId::Range) return std::nullopt;
  const auto* start = node->find_attr("start");
  const auto* end = node->find_attr("end");
  if (start == nullptr || end == nullptr) return std::nullopt;
  const Dim size = graph.resolve(std::get<Dim>(*start));
  return graph.resolve(std::get<Dim>(*end)) == size + 1 ? std::optional(size) : std::nullopt;
}

/// less < than + plus.
struct Comparison {
  ValueId less, than;
  std::int64_t plus;
};

/// All comparisons that must hold; nothing where the condition has others too.
std::optional<std::vector<Comparison>> comparisons_of(const Builder& graph, ValueId condition) {
  std::vector<Comparison> all;
  std::vector<ValueId> open{condition};
  while (!open.empty()) {
    const graph::Node* node = producer_of(graph, number_behind(graph, open.back()));
    open.pop_back();
    if (node == nullptr) return std::nullopt;
    const auto add = [&](std::size_t less, std::size_t than, std::int64_t plus) {
      all.push_back({node->inputs[less], node->inputs[than], plus});
    };
    switch (node->op->id) {
      case OpId::And: open.insert(open.end(), node->inputs.begin(), node->inputs.end()); break;
      case OpId::Less: add(0, 1, 0); break;
      case OpId::LessEqual: add(0, 1, 1); break;
      case OpId::Greater: add(1, 0, 0); break;
      case OpId::GreaterEqual: add(1, 0, 1); break;
      default: return std::nullopt;
    }
  }
  return all;
}

/// A counter with numbers added to it.
std::optional<Counter> counter_of(const Builder& graph, ValueId id, const Counters& counters) {
  std::int64_t added = 0;
  while (true) {
    id = number_behind(graph, id);
    if (const auto found = counters.find(id); found != counters.end())
      return Counter{found->second.first + added, found->second.by};
    const graph::Node* node = producer_of(graph, id);
    if (node == nullptr || (node->op->id != OpId::Add && node->op->id != OpId::Sub))
      return std::nullopt;
    const auto right = whole_number(graph, node->inputs[1]),
               left =
                   node->op->id == OpId::Add ? whole_number(graph, node->inputs[0]) : std::nullopt;
    if (!left && !right) return std::nullopt;
    added += right ? (node->op->id == OpId::Add ? *right : -*right) : *left;
    if (std::abs(added) > most_number) return std::nullopt;
    id = node->inputs[right ? 0 : 1];
  }
}

/// True where the loop begins exactly if first < bound.
bool begins_below(const LoopEnd& end, std::int64_t first, Dim bound) {
  graph::DimTable& dims = bound.table();
  const Dim one = dims.constant(1), none = dims.constant(0);
  if (const auto holds = size_of(end.outside, end.begins, dims))
    return *holds == min(one, max(none, bound - first));
  const auto all = comparisons_of(end.outside, end.begins);
  if (!all || all->size() != 1) return false;
  const auto less = size_of(end.outside, all->front().less, dims),
             than = size_of(end.outside, all->front().than, dims);
  return less && than && *less == dims.constant(first) && *than + all->front().plus == bound;
}

}  // namespace

std::optional<std::int64_t> growth(const Builder& body, ValueId before, ValueId after) {
  const std::optional<Counter> counter = counter_of(body, after, {{before, {0, 0}}});
  return counter ? std::optional(counter->first) : std::nullopt;
}

std::optional<Dim> counted_steps(const LoopEnd& end) {
  const auto all = comparisons_of(end.body, end.goes_on);
  if (!all || all->empty()) return std::nullopt;
  std::optional<Dim> steps;
  for (const Comparison& each : *all) {
    const std::optional<Counter> counter = counter_of(end.body, each.less, end.counters);
    if (!counter || counter->by < 1) return std::nullopt;
    const auto size = size_of(end.body, each.than, end.dims_of_body);
    const std::optional<Dim> bound = size ? end.outside_of(*size) : std::nullopt;
    if (!bound) return std::nullopt;
    // What is compared after the first step is one step further than what begins.
    const std::int64_t first = counter->first - counter->by;
    const Dim limit = *bound + each.plus;
    const bool holds_first =
        end.begins_always || (all->size() == 1 && begins_below(end, first, limit));
    if (!holds_first) return std::nullopt;
    const Dim by = limit.table().constant(counter->by),
              least = limit.table().constant(end.begins_always ? 1 : 0),
              count = max(floordiv(limit + (counter->by - 1 - first), by), least);
    steps = steps ? min(*steps, count) : count;
  }
  return steps;
}

}  // namespace dyn::onnx
