#include "src/import/onnx/rolled_loop.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "graph/ir/unique_names.hpp"
#include "src/import/onnx/counted_loop.hpp"
#include "src/import/onnx/functions.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"
#include "src/import/onnx/sizes/known_ints.hpp"

namespace dyn::onnx {
namespace {

/// Loops in loops, each of which is converted more than once, would take any time.
constexpr std::int64_t most_rolled_nodes = 1'000'000;

GraphState& whole_of(GraphState& graph) {
  GraphState* whole = &graph;
  while (whole->outside != nullptr) whole = whole->outside;
  return *whole;
}

/// A tensor that only carries sizes has them behind a size of 0, and no elements.
constexpr std::size_t most_sizes = graph::max_rank - 1;

std::shared_ptr<Operand> operand_of(ValueId id, const std::string& name) {
  return std::make_shared<Operand>(Operand{id, nullptr, std::nullopt, name});
}

}  // namespace

struct RolledLoop::Attempt {
  Attempt(GraphState& outside, const std::string& name)
      : graph{.builder = graph::Builder(name, outside.files.path(), outside.builder.operators()),
              .operands = {},
              .weights = {},
              .files = outside.files,
              .ones = outside.ones,
              .by_sizes = outside.by_sizes,
              .by_data = outside.by_data,
              .strict = outside.strict,
              .alone = true},
        dims(outside.builder, graph.builder) {
    graph.opset = outside.opset;
    graph.outside = &outside;
  }

  GraphState graph;
  BodyDims dims;
  graph::UniqueNames names;
  std::vector<std::vector<Dim>> carried_dims;  ///< before a step
  ValueId step = graph::no_value;
  std::shared_ptr<Operand> condition;
  std::unordered_map<const Operand*, std::shared_ptr<Operand>> taken;  ///< by those outside
  std::vector<ValueId> captured;                                       ///< outside
  OperandList lists;             ///< in the body: sequences before a step
  std::vector<ValueId> carried;  ///< in the body, before a step
  std::vector<ValueId> results;  ///< in the body: carried values, then what is stacked
  ValueId goes_on = graph::no_value;
  std::optional<Dim> count;  ///< the number of steps, where sizes decide it
};

RolledLoop::RolledLoop(GraphState& outside, NodeContext& node, const GraphProto& body,
                       const LoopOperands& given, const Convert& convert)
    : outside_(outside),
      whole_(whole_of(outside)),
      node_(node),
      body_(body),
      given_(given),
      convert_(convert),
      name_(fmt::format("body_{}", ++whole_.bodies)) {
  const std::size_t before = given.is_counted ? 2 : 0,
                    wanted = before + given.carried.size() + given.scanned.size();
  if (static_cast<std::size_t>(body.input_size()) != wanted)
    node.fail(fmt::format("its body has {} inputs, and gets {}", body.input_size(), wanted));
  find_unchanged();
  for (std::size_t i = 0; i < given.carried.size(); ++i) {
    if (is_unchanged_[i]) continue;
    Operand& operand = *given.carried[i];
    if (operand.is_nothing || operand.front)
      node.fail_unsupported(
          "an optional value that is none, or a sequence that grew in another loop, goes on from "
          "step to step; the number of steps must be known when the model is imported, and small");
    if (operand.sequence) {
      growing_.push_back(i);
      continue;
    }
    carried_.push_back(i);
    first_carried_.push_back(node.value_of(operand));
    varies_.emplace_back(outside.builder.type(first_carried_.back()).dims.size(), false);
  }
  find_names_around();
}

void RolledLoop::count_conversion() {
  for_each_node(body_.node(), [&](const NodeProto&) { ++whole_.rolled_nodes; });
  if (whole_.rolled_nodes > most_rolled_nodes)
    node_.fail_unsupported(
        fmt::format("the bodies of loops in loops have more than {} nodes in all conversions that "
                    "it takes to know which of their sizes stay the same",
                    most_rolled_nodes));
}

/// Weights that a loop gets as carried values stay weights so.
void RolledLoop::find_unchanged() {
  std::unordered_map<std::string, std::string> same;
  for (const NodeProto& node : body_.node())
    if (node.op_type() == "Identity" && is_standard(node.domain()) && node.input_size() == 1 &&
        node.output_size() == 1)
      same.emplace(node.output(0), node.input(0));
  const int before = given_.is_counted ? 2 : 0, first_output = given_.is_counted ? 1 : 0;
  for (std::size_t i = 0; i < given_.carried.size(); ++i) {
    const int place = static_cast<int>(i);
    std::string name =
        first_output + place < body_.output_size() ? body_.output(first_output + place).name() : "";
    for (int left = body_.node_size(); left > 0 && same.contains(name); --left) name = same[name];
    is_unchanged_.push_back(name == body_.input(before + place).name());
  }
}

void RolledLoop::find_names_around() {
  std::set<std::string> seen;
  const auto see = [&](const std::string& name) {
    if (!name.empty() && seen.insert(name).second && outside_.operands.contains(name))
      names_around_.push_back(name);
  };
  for_each_node(body_.node(), [&](const NodeProto& node) {
    for (const std::string& name : node.input()) see(name);
    for (const AttributeProto& attribute : node.attribute())
      if (attribute.has_g())
        for (const ValueInfoProto& output : attribute.g().output()) see(output.name());
  });
  for (const ValueInfoProto& output : body_.output()) see(output.name());
}

ValueId RolledLoop::add_input(Attempt& attempt, const std::string& name,
                              graph::TensorType type) const {
  return attempt.graph.builder.input(attempt.names.unique(name.empty() ? "value" : name),
                                     std::move(type));
}

void RolledLoop::add_ports(Attempt& attempt) {
  int next = 0;
  const auto name_of_next = [&] { return body_.input(next++).name(); };
  Operands& operands = attempt.graph.operands;
  const std::string step = given_.is_counted ? name_of_next() : "step",
                    condition = given_.is_counted ? name_of_next() : "condition";
  attempt.step = add_input(attempt, step, {DType::i64, {}});
  attempt.condition = operand_of(add_input(attempt, condition, {DType::boolean, {}}), condition);
  if (given_.is_counted) {
    operands[step] = operand_of(attempt.step, step);
    operands[condition] = attempt.condition;
  }
  std::vector<std::pair<std::string, std::shared_ptr<Operand>>> unchanged;
  for (std::size_t place = 0, i = 0; place < given_.carried.size(); ++place) {
    const std::string name = name_of_next();
    if (std::ranges::find(growing_, place) != growing_.end()) {
      const auto list = std::make_shared<Operand>();
      list->sequence = std::make_shared<const OperandList>();
      list->front = std::make_shared<Operand>();
      list->front->is_nothing = true;
      attempt.lists.push_back(list);
      operands[name] = list;
      continue;
    }
    if (is_unchanged_[place]) {
      unchanged.emplace_back(name, given_.carried[place]);
      continue;
    }
    const graph::TensorType outside = outside_.builder.type(first_carried_[i]);
    graph::TensorType type{outside.dtype, {}};
    for (std::size_t axis = 0; axis < outside.dims.size(); ++axis)
      type.dims.push_back(varies_[i][axis] ? attempt.dims.varying()
                                           : attempt.dims.of_port(outside.dims[axis]));
    attempt.carried_dims.push_back(type.dims);
    attempt.carried.push_back(add_input(attempt, name, std::move(type)));
    operands[name] = operand_of(attempt.carried.back(), name);
    ++i;
  }
  for (const ValueId scanned : given_.scanned) {
    const graph::TensorType outside = outside_.builder.type(scanned);
    graph::TensorType type{outside.dtype, {}};
    for (std::size_t axis = 1; axis < outside.dims.size(); ++axis)
      type.dims.push_back(attempt.dims.of_port(outside.dims[axis]));
    const std::string name = name_of_next();
    operands[name] = operand_of(add_input(attempt, name, std::move(type)), name);
  }
  for (const auto& [name, operand] : unchanged) operands[name] = captured(attempt, name, operand);
}

/// Constants stay constants, and sizes sizes; other values are inputs of the body.
std::shared_ptr<Operand> RolledLoop::captured(Attempt& attempt, const std::string& name,
                                              const std::shared_ptr<Operand>& outside) const {
  std::shared_ptr<Operand>& own = attempt.taken[outside.get()];
  if (own) return own;
  if (outside->sequence || outside->is_nothing) {
    own = std::make_shared<Operand>();
    own->refusal = std::make_shared<const Refusal>(Refusal{
        fmt::format("\"{}\" is a sequence, or an optional value, around a loop", name), {}});
  } else if (outside->constant || outside->refusal || outside->ints) {
    own = std::make_shared<Operand>(Operand{graph::no_value,
                                            outside->constant,
                                            outside->ints,
                                            outside->name,
                                            {},
                                            outside->texts,
                                            outside->refusal});
    if (own->ints)
      for (Dim& element : own->ints->elements) element = attempt.dims.of_size(element);
  } else {
    const graph::TensorType type = outside_.builder.type(outside->id);
    graph::TensorType in_body{type.dtype, {}};
    for (const Dim dim : type.dims) in_body.dims.push_back(attempt.dims.of_port(dim));
    own = operand_of(add_input(attempt, name, std::move(in_body)), name);
    own->texts = outside->texts;
    attempt.captured.push_back(outside->id);
    attempt.graph.captured.emplace(own->id, outside->id);
  }
  return own;
}

void RolledLoop::add_names_around(Attempt& attempt) {
  for (const std::string& name : names_around_) {
    if (!attempt.graph.operands.contains(name))
      attempt.graph.operands.emplace(name, captured(attempt, name, outside_.operands.at(name)));
  }
}

/// Sizes that the body computes with, and that no other input has, come as the shapes of empty
/// tensors.
void RolledLoop::add_sizes(Attempt& attempt) {
  const std::vector<Dim> sizes = attempt.dims.without_port();
  for (std::size_t first = 0; first < sizes.size(); first += most_sizes) {
    std::vector<Dim> shape{node_.dims().constant(0)};
    const auto begin = sizes.begin() + static_cast<std::ptrdiff_t>(first);
    shape.insert(shape.end(), begin,
                 begin + static_cast<std::ptrdiff_t>(std::min(most_sizes, sizes.size() - first)));
    graph::TensorType type{DType::boolean, {}};
    for (const Dim dim : shape) type.dims.push_back(attempt.dims.of_port(dim));
    add_input(attempt, "sizes", std::move(type));
    attempt.captured.push_back(node_.add("expand", {node_.builder().integer(DType::boolean, 0)},
                                         {node_.dim_list("shape", shape)}));
  }
}

void RolledLoop::check_carried(Attempt& attempt, std::size_t index, ValueId after) const {
  const graph::TensorType& next = attempt.graph.builder.type(after);
  const graph::TensorType before{outside_.builder.type(first_carried_[index]).dtype,
                                 attempt.carried_dims[index]};
  const std::string both =
      fmt::format("\"{}\" of its body is {} before a step, and {} after it",
                  body_.input(static_cast<int>(index) + (given_.is_counted ? 2 : 0)).name(),
                  to_string(before), to_string(next));
  if (next.dtype != before.dtype)
    node_.fail(fmt::format("{}; a loop's values keep their dtypes", both));
  if (next.rank() != before.rank())
    node_.fail_unsupported(fmt::format("{}; values of several ranks are not supported", both));
}

/// False where sizes that were taken to stay the same do not.
bool RolledLoop::stays(Attempt& attempt) {
  bool same = true;
  for (std::size_t i = 0; i < first_carried_.size(); ++i) {
    check_carried(attempt, i, attempt.results[i]);
    const std::vector<Dim>& after = attempt.graph.builder.type(attempt.results[i]).dims;
    for (std::size_t axis = 0; axis < after.size(); ++axis) {
      const Dim before = attempt.graph.builder.resolve(attempt.carried_dims[i][axis]);
      if (varies_[i][axis] || prove_equal(before, after[axis]) == true) continue;
      varies_[i][axis] = true;
      same = false;
    }
  }
  return same;
}

OperandList RolledLoop::convert() {
  const std::size_t before = given_.is_counted ? 1 : 0, places = given_.carried.size();
  while (true) {
    count_conversion();
    Attempt attempt(outside_, name_);
    add_ports(attempt);
    add_names_around(attempt);
    add_sizes(attempt);
    const OperandList results = convert_(attempt.graph);
    if (results.size() < before + places)
      node_.fail(
          fmt::format("its body has {} outputs for {} values that go on", results.size(), places));
    NodeProto reader = node_.node();
    NodeContext in_body(attempt.graph, reader);
    for (std::size_t i = before; i < results.size(); ++i) {
      const bool is_growing = std::ranges::find(growing_, i - before) != growing_.end();
      if (i - before < places && (is_unchanged_[i - before] || is_growing)) continue;
      attempt.results.push_back(
          in_body.value_of(*results[i], body_.output(static_cast<int>(i)).name()));
    }
    add_stacks(attempt, in_body, results);
    if (!stays(attempt)) continue;
    const bool ends = given_.is_counted && results[0] != attempt.condition;
    if (ends) find_end(attempt, in_body, *results[0]);
    const bool never_ends = given_.most && given_.most->constant() == no_limit;
    if (attempt.goes_on == graph::no_value && !attempt.count && given_.begins && !never_ends)
      attempt.count = given_.most;
    return finish(attempt);
  }
}

/// What a step puts at the end of a sequence is collected, with an axis before its own.
void RolledLoop::add_stacks(Attempt& attempt, NodeContext& in_body, const OperandList& results) {
  const std::size_t before = given_.is_counted ? 1 : 0;
  for (std::size_t i = 0; i < growing_.size(); ++i) {
    const Operand& list = *results[before + growing_[i]];
    if (!list.sequence || list.front != attempt.lists[i]->front || list.sequence->empty())
      node_.fail_unsupported(
          "a sequence goes on from step to step, and a step does more than put tensors at its end; "
          "the number of steps must be known when the model is imported, and small");
    std::vector<TensorExpr> parts;
    for (const auto& tensor : *list.sequence)
      parts.push_back(unsqueeze(TensorExpr{in_body, in_body.value_of(*tensor)}, 0));
    attempt.results.push_back(parts.size() == 1 ? parts[0].id() : concat(parts, 0).id());
  }
}

/// The sequence behind the loop.
std::shared_ptr<Operand> RolledLoop::grown(std::size_t place, ValueId stack) {
  const TensorExpr steps{node_, stack};
  Dims dims = steps.dims();
  dims[1] = dims[0] * dims[1];
  dims.erase(dims.begin());
  std::vector<TensorExpr> parts;
  for (const auto& tensor : *given_.carried[place]->sequence)
    parts.push_back(unsqueeze(TensorExpr{node_, node_.value_of(*tensor)}, 0));
  parts.push_back(reshape(steps, dims));
  const auto list = std::make_shared<Operand>();
  list->sequence = std::make_shared<const OperandList>();
  list->front = operand_of(parts.size() == 1 ? parts[0].id() : concat(parts, 0).id(), "stack");
  return list;
}

/// A condition that the body gives may be true always.
void RolledLoop::find_end(Attempt& attempt, NodeContext& in_body, const Operand& goes_on) {
  if (goes_on.constant && goes_on.constant->elements() == 1 &&
      integers_of(*goes_on.constant).front() != 0)
    return;
  Operand operand = goes_on;
  attempt.goes_on = in_body.value_of(operand, "goes_on");
  attempt.count = count_by_sizes(attempt);
  if (attempt.count) {
    attempt.goes_on = graph::no_value;
    return;
  }
  if (attempt.graph.builder.type(attempt.goes_on).rank() > 0)
    attempt.goes_on = attempt.graph.builder.add("reshape", {attempt.goes_on}, "goes_on",
                                                {{"shape", std::vector<Dim>{}}});
}

std::optional<Dim> RolledLoop::count_by_sizes(Attempt& attempt) {
  const graph::Builder& body = attempt.graph.builder;
  Counters counters{{attempt.step, {}}};
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const Tensor* first = given_.carried[carried_[i]]->constant.get();
    const graph::TensorType& type = body.type(attempt.carried[i]);
    if (first == nullptr || first->elements() != 1 || is_float(type.dtype)) continue;
    if (const auto by = growth(body, attempt.carried[i], attempt.results[i]))
      counters[attempt.carried[i]] = {integers_of(*first).front(), *by};
  }
  const std::optional<Dim> counted = counted_steps(
      {body, outside_.builder, attempt.graph.builder.dims(), attempt.goes_on, given_.condition,
       given_.begins, counters, [&](Dim dim) { return attempt.dims.outside_of(dim); }});
  if (!counted || !given_.most) return std::nullopt;
  return given_.most->constant() == no_limit ? counted : min(*counted, *given_.most);
}

OperandList RolledLoop::finish(Attempt& attempt) {
  std::vector<ValueId> outputs;
  std::vector<std::string> names, results;
  graph::UniqueNames unique;
  const auto result_name = [&](std::size_t place) {
    return node_.wants(place) ? node_.node().output(static_cast<int>(place)) : "unread";
  };
  if (attempt.goes_on != graph::no_value) {
    outputs.push_back(attempt.goes_on);
    names.push_back(unique.unique("goes_on"));
  }
  const std::size_t before = given_.is_counted ? 1 : 0, collected = given_.carried.size(),
                    made_by_node = attempt.results.size() - growing_.size();
  for (std::size_t i = 0; i < attempt.results.size(); ++i) {
    const std::size_t place = i < carried_.size() ? carried_[i]
                              : i < made_by_node  ? collected + i - carried_.size()
                                                  : growing_[i - made_by_node];
    outputs.push_back(attempt.results[i]);
    names.push_back(unique.unique(body_.output(static_cast<int>(before + place)).name()));
    results.push_back(result_name(place));
  }
  if (attempt.results.empty()) return given_.carried;
  graph::Module module = attempt.graph.builder.finish(outputs, names, {});
  std::vector<graph::Attr> attrs = attributes(attempt, module);
  std::vector<ValueId> operands{given_.steps, given_.condition};
  if (attempt.count && given_.is_counted) {
    Operand count{graph::no_value, nullptr, KnownInts{DType::i64, true, {*attempt.count}}, "steps"};
    operands = {node_.value_of(count), node_.builder().integer(DType::boolean, 1)};
  }
  for (const std::vector<ValueId>* list :
       {&std::as_const(first_carried_), &given_.scanned, &std::as_const(attempt.captured)})
    operands.insert(operands.end(), list->begin(), list->end());
  take_weights(attempt.graph);
  take_bodies(std::move(module), attempt.graph);
  const std::vector<ValueId> made =
      outside_.builder.add("loop", std::move(operands), std::move(attrs), results);
  OperandList all;
  std::size_t next = 0, next_stack = made_by_node;
  for (std::size_t place = 0; place < collected; ++place) {
    const bool is_growing = std::ranges::find(growing_, place) != growing_.end();
    all.push_back(is_growing             ? grown(place, made[next_stack++])
                  : is_unchanged_[place] ? given_.carried[place]
                                         : operand_of(made[next++], result_name(place)));
  }
  for (; next < made_by_node; ++next) all.push_back(operand_of(made[next], results[next]));
  return all;
}

std::vector<graph::Attr> RolledLoop::attributes(Attempt& attempt, const graph::Module& module) {
  const bool ends = attempt.goes_on != graph::no_value;
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < attempt.results.size(); ++i) {
    if (i < first_carried_.size()) {
      const graph::TensorType type = outside_.builder.type(first_carried_[i]);
      for (std::size_t axis = 0; axis < type.dims.size(); ++axis)
        dims.push_back(varies_[i][axis] ? node_.defined_dim("result") : type.dims[axis]);
      continue;
    }
    for (const Dim dim : module.value(module.outputs[i + (ends ? 1 : 0)]).type.dims) {
      const std::optional<Dim> outside = attempt.dims.outside_of(dim);
      dims.push_back(outside ? *outside : node_.defined_dim("result"));
    }
  }
  const Dim steps = attempt.count ? *attempt.count : node_.defined_dim("steps");
  return {{"body", name_},
          node_.dim("carried", static_cast<std::int64_t>(first_carried_.size())),
          node_.dim("scanned", static_cast<std::int64_t>(given_.scanned.size())),
          {"conditional", ends},
          {"steps", steps},
          {"dims", std::move(dims)}};
}

void RolledLoop::take_weights(GraphState& graph) {
  std::ranges::move(graph.weights, std::back_inserter(outside_.weights));
  outside_.weight_keys.merge(graph.weight_keys);
  outside_.weight_of.merge(graph.weight_of);
}

/// Those that the body runs itself come first.
void RolledLoop::take_bodies(graph::Module module, GraphState& graph) {
  for (const std::shared_ptr<const graph::Module>& inner : module.bodies)
    outside_.builder.body(inner);
  graph.sources.resize(module.nodes.size(), describe(node_.node()));
  std::ranges::move(graph.body_sources, std::back_inserter(outside_.body_sources));
  std::ranges::move(graph.sources, std::back_inserter(outside_.body_sources));
  outside_.builder.body(std::make_shared<const graph::Module>(std::move(module)));
}

}  // namespace dyn::onnx
