#include "src/import/onnx/node_context.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/custom_op.hpp"
#include "graph/ir/scalars.hpp"
#include "graph/text/lexer.hpp"
#include "src/import/onnx/functions.hpp"
#include "src/import/onnx/import.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"
#include "src/import/onnx/sizes/known_ints.hpp"

namespace dyn::onnx {
namespace {

graph::TensorType type_of_tensor(DType dtype, const Integers& sizes, graph::DimTable& dims) {
  graph::TensorType type{dtype, {}};
  for (const std::int64_t size : sizes) type.dims.push_back(dims.constant(size));
  return type;
}

/// The element of a float tensor of one, which text can say.
std::optional<double> only_number(const Tensor& tensor) {
  if (!is_float(tensor.dtype) || tensor.elements() != 1) return std::nullopt;
  const double number = numbers_of(tensor).front();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string describe(const NodeProto& node) {
  const std::string name = !node.name().empty()     ? node.name()
                           : node.output_size() > 0 ? node.output(0)
                                                    : "";
  return fmt::format("{} \"{}\"", node.op_type(), name);
}

int NodeContext::opset() const { return is_standard(node_.domain()) ? state_.opset : last_opset; }

void NodeContext::fail(const std::string& message) const {
  throw Error(ErrorKind::model, fmt::format("{}: {}", describe(node_), message));
}

void NodeContext::fail_unsupported(const std::string& message) const {
  if (std::set<std::string> inputs = asked_for(); !inputs.empty())
    throw UndecidedStructure{std::move(inputs)};
  throw Error(ErrorKind::unsupported, fmt::format("{}: {}", describe(node_), message));
}

void NodeContext::warn(const std::string& message) const {
  state_.warnings.push_back(fmt::format("{}: {}", describe(node_), message));
}

bool NodeContext::has(std::size_t input) const {
  return input < inputs() && !node_.input(static_cast<int>(input)).empty();
}

std::shared_ptr<Operand> NodeContext::operand(std::size_t input) {
  if (!has(input)) fail(fmt::format("it needs input {}", input));
  const std::string& name = node_.input(static_cast<int>(input));
  const auto found = state_.operands.find(name);
  if (found == state_.operands.end())
    fail(
        fmt::format("its input \"{}\" is defined nowhere before it; nodes stand in the order of "
                    "the computation, which has no cycles",
                    name));
  return found->second;
}

Operand& NodeContext::find(std::size_t input) { return without_texts(readable(*operand(input))); }

Operand& NodeContext::without_texts(Operand& operand) const {
  if (operand.texts)
    fail_unsupported(fmt::format("{} holds texts, of which dyn has no tensors", operand.name));
  return operand;
}

const TextList* NodeContext::texts(std::size_t input) const {
  if (!has(input)) return nullptr;
  const auto found = state_.operands.find(node_.input(static_cast<int>(input)));
  return found == state_.operands.end() ? nullptr : found->second->texts.get();
}

ValueId NodeContext::places_of_texts(std::size_t input) {
  Operand& places = *operand(input);
  return materialize(places, places.name);
}

Operand& NodeContext::readable(Operand& operand) {
  if (operand.sequence || operand.is_nothing)
    throw Error(ErrorKind::model,
                fmt::format("it reads a tensor, but \"{}\" is {}", operand.name,
                            operand.sequence ? "a sequence of tensors" : "no value at all"));
  if (!operand.refusal) return operand;
  if (!operand.refusal->deciding.empty()) throw UndecidedStructure{operand.refusal->deciding};
  throw Error(ErrorKind::unsupported,
              fmt::format("it reads what it cannot know: {}", operand.refusal->message));
}

ValueId NodeContext::value(std::size_t input) {
  Operand& operand = find(input);
  return materialize(operand, operand.name);
}

std::vector<ValueId> NodeContext::values() {
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < inputs(); ++i) values.push_back(value(i));
  return values;
}

const OperandList& NodeContext::sequence(std::size_t input) {
  const std::shared_ptr<Operand> given = sequence_operand(input);
  if (given->front)
    fail_unsupported(
        "its sequence grows in a loop; tensors are put at its end there, and behind the loop they "
        "are joined, counted or taken one by one");
  return *given->sequence;
}

std::shared_ptr<Operand> NodeContext::sequence_operand(std::size_t input) {
  std::shared_ptr<Operand> given = operand(input);
  if (given->refusal) readable(*given);
  if (!given->sequence) fail(fmt::format("its input {} must be a sequence of tensors", input));
  return given;
}

void NodeContext::give(OperandList sequence, std::size_t output) {
  Operand operand;
  operand.sequence = std::make_shared<const OperandList>(std::move(sequence));
  give(std::move(operand), output);
}

ValueId value_of(GraphState& state, const std::string& name) {
  NodeProto reader;
  reader.set_op_type("output");
  reader.set_name(name);
  reader.add_input(name);
  return NodeContext(state, reader).value(0);
}

ValueId NodeContext::materialize(Operand& operand, const std::string& name) {
  if (readable(operand).id != graph::no_value) return operand.id;
  const std::string& own = operand.name.empty() ? name : operand.name;
  return operand.id = constant_of(operand) != nullptr ? tensor_value(operand.constant, own)
                                                      : ints_value(*operand.ints, own);
}

ValueId NodeContext::tensor_value(const ConstantTensor& tensor, const std::string& name) {
  graph::Builder& builder = state_.builder;
  if (tensor.dims().empty()) {
    if (is_code(tensor->dtype))
      return builder.integer(tensor->dtype, static_cast<unsigned char>(tensor->bytes.front()));
    return is_float(tensor->dtype) ? builder.number(tensor->dtype, numbers_of(*tensor).front())
                                   : builder.integer(tensor->dtype, integers_of(*tensor).front());
  }
  if (const std::optional<double> number = only_number(*tensor))
    return builder.splat(new_key(name), type_of_tensor(tensor.dtype(), tensor.dims(), dims()),
                         *number);
  if (state_.unrolled_loops == 0) return weight_value(tensor, name);
  const std::size_t hash = std::hash<std::string>()(tensor->bytes);
  const auto [first, last] = state_.weights_in_loops.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const Tensor& other = *known->second.first;
    if (other.dtype == tensor->dtype && other.dims == tensor->dims && other.bytes == tensor->bytes)
      return known->second.second;
  }
  const ValueId id = weight_value(tensor, name);
  state_.weights_in_loops.emplace(hash, std::pair(tensor.tensor(), id));
  return id;
}

/// A tensor of several graphs is one weight.
ValueId NodeContext::weight_value(const ConstantTensor& tensor, const std::string& name) {
  graph::Builder& builder = state_.builder;
  const graph::TensorType type = type_of_tensor(tensor.dtype(), tensor.dims(), dims());
  for (const GraphState* graph = &state_; graph != nullptr; graph = graph->outside) {
    const auto known = graph->weight_of.find(tensor.identity());
    if (known != graph->weight_of.end() && !builder.has_name(known->second))
      return builder.weight(known->second, type);
  }
  const std::string key = new_key(name);
  state_.weights.push_back({key, tensor});
  state_.weight_keys.insert(key);
  state_.weight_of.emplace(tensor.identity(), key);
  return builder.weight(key, type);
}

/// A name that no value of the graph has, and no weight of another one.
std::string NodeContext::new_key(const std::string& name) {
  const auto is_taken = [&](const std::string& key) {
    if (key.empty() || state_.builder.has_name(key)) return true;
    for (const GraphState* graph = &state_; graph != nullptr; graph = graph->outside)
      if (graph->weight_keys.contains(key)) return true;
    return false;
  };
  std::string key = name;
  int& last = state_.last_key_number.try_emplace(name, 1).first->second;
  while (is_taken(key)) key = fmt::format("{}_{}", name, ++last);
  return key;
}

ValueId NodeContext::ints_value(const KnownInts& ints, const std::string& name) {
  if (ints.dtype != DType::boolean) return integer_values(ints, name);
  KnownInts numbers = ints;
  numbers.dtype = DType::i64;
  return state_.builder.add("cast", {integer_values(numbers, name)}, name,
                            {{"dtype", std::string(name_of(DType::boolean))}});
}

/// Each element is a range of one.
ValueId NodeContext::integer_values(const KnownInts& ints, const std::string& name) {
  graph::Builder& builder = state_.builder;
  std::vector<ValueId> elements;
  for (const Dim element : ints.elements) {
    const Dim start = builder.resolve(element);
    elements.push_back(builder.add(
        "range", {}, name,
        {{"start", start}, {"end", start + 1}, {"dtype", std::string(name_of(ints.dtype))}}));
  }
  const ValueId list = elements.size() == 1
                           ? elements.front()
                           : builder.add("concat", elements, name, {{"axis", dims().constant(0)}});
  if (!ints.scalar && ints.dims.empty()) return list;
  std::vector<Dim> shape;
  for (const std::int64_t dim : dims_of(ints)) shape.push_back(dims().constant(dim));
  return builder.add("reshape", {list}, name, {{"shape", std::move(shape)}});
}

graph::TensorType NodeContext::type_of(std::size_t input) { return type_of(find(input)); }

graph::TensorType NodeContext::type_of(const Operand& operand) {
  if (operand.id != graph::no_value) return state_.builder.type(operand.id);
  if (operand.constant)
    return type_of_tensor(operand.constant.dtype(), operand.constant.dims(), dims());
  graph::TensorType type{operand.ints->dtype, {}};
  for (const std::int64_t dim : dims_of(*operand.ints)) type.dims.push_back(dims().constant(dim));
  return type;
}

void NodeContext::require_rank(std::size_t input, int rank) {
  const int actual = type_of(input).rank();
  if (actual != rank)
    fail(fmt::format("its input {} must have {} dim{}, not {}", input, rank, rank == 1 ? "" : "s",
                     actual));
}

ValueId NodeContext::add(std::string_view op, std::vector<ValueId> inputs,
                         std::vector<graph::Attr> attrs) {
  return state_.builder.add(op, std::move(inputs),
                            node_.output_size() > 0 ? node_.output(0) : node_.op_type(),
                            std::move(attrs));
}

std::vector<ValueId> NodeContext::add_all(std::string_view op, std::vector<ValueId> inputs,
                                          std::vector<graph::Attr> attrs) {
  std::vector<std::string> names;
  for (int i = 0; i < find_op(op, state_.builder.operators().get())->outputs; ++i)
    names.push_back(i < node_.output_size() && !node_.output(i).empty() ? node_.output(i)
                                                                        : node_.op_type());
  return state_.builder.add(op, std::move(inputs), std::move(attrs), names);
}

Dim NodeContext::defined_dim(const std::string& hint) {
  graph::SymbolInfo info;
  info.name = hint;
  int& last = state_.last_dim_number.try_emplace(hint, 1).first->second;
  while (dims().find_symbol(info.name) || !graph::can_name_dim(info.name))
    info.name = fmt::format("{}_{}", hint, ++last);
  return state_.builder.symbol(std::move(info));
}

ValueId NodeContext::scalar(double number, ValueId like) {
  const DType dtype = state_.builder.type(like).dtype;
  return is_float(dtype) ? state_.builder.number(dtype, number)
                         : state_.builder.integer(dtype, graph::saturated(dtype, number));
}

graph::Attr NodeContext::dim_list(const char* name, std::span<const Dim> dims) {
  return {name, std::vector<Dim>(dims.begin(), dims.end())};
}

graph::Attr NodeContext::integer_list(const char* name, std::span<const std::int64_t> integers) {
  std::vector<Dim> list;
  for (const std::int64_t integer : integers) list.push_back(dims().constant(integer));
  return {name, std::move(list)};
}

graph::Attr NodeContext::dim(const char* name, std::int64_t integer) {
  return {name, dims().constant(integer)};
}

bool NodeContext::wants(std::size_t output) const {
  return output < outputs() && !node_.output(static_cast<int>(output)).empty();
}

void NodeContext::give(Operand operand, std::size_t output) {
  if (!wants(output)) return;
  operand.name = node_.output(static_cast<int>(output));
  give(std::make_shared<Operand>(std::move(operand)), output);
}

void NodeContext::give(std::shared_ptr<Operand> operand, std::size_t output) {
  if (!wants(output)) return;
  const std::string& name = node_.output(static_cast<int>(output));
  if (!state_.operands.emplace(name, std::move(operand)).second)
    fail(fmt::format("its output \"{}\" is defined twice", name));
}

void NodeContext::give(ValueId id, std::size_t output) {
  give(Operand{id, nullptr, std::nullopt}, output);
}

void NodeContext::give_texts(ValueId places, TextListPtr list) {
  Operand operand{places, nullptr, std::nullopt};
  operand.texts = std::move(list);
  give(std::move(operand));
}

void NodeContext::give(KnownInts ints, std::size_t output) {
  std::ranges::transform(ints.elements, ints.elements.begin(), graph::abbreviated);
  give(Operand{graph::no_value, nullptr, std::move(ints)}, output);
}

void NodeContext::give(Tensor constant, std::size_t output) {
  give(Operand{graph::no_value, std::make_shared<const Tensor>(std::move(constant)), std::nullopt},
       output);
}

}  // namespace dyn::onnx
