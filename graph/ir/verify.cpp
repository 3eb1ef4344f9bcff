// The structure that every pass relies on.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/diagnostic.hpp"
#include "graph/ir/op.hpp"
#include "graph/ir/scalars.hpp"
#include "graph/ir/verify.hpp"
#include "graph/ops/infer.hpp"
#include "graph/ops/state_rules.hpp"

namespace dyn::graph {

namespace {

void require(bool condition, const std::string& message) {
  if (!condition) throw Error(ErrorKind::internal, "broken module: " + message);
}

bool is_constant(Dim dim) { return dim.constant().has_value(); }

/// True where the value is of the kind; a list that may be empty fits every list.
bool fits(AttrKind kind, const AttrValue& value) {
  const Dim* dim = std::get_if<Dim>(&value);
  const auto* list = std::get_if<std::vector<Dim>>(&value);
  switch (kind) {
    case AttrKind::Boolean: return std::holds_alternative<bool>(value);
    case AttrKind::Float:
      return std::holds_alternative<double>(value) || (dim && is_constant(*dim));
    case AttrKind::Word: return std::holds_alternative<std::string>(value);
    case AttrKind::Integer: return dim && is_constant(*dim);
    case AttrKind::Dim: return dim != nullptr;
    case AttrKind::IntegerList: return list && std::ranges::all_of(*list, is_constant);
    case AttrKind::DimList: return list != nullptr;
  }
  return false;
}

constexpr const char* describe(AttrKind kind) {
  switch (kind) {
    case AttrKind::Boolean: return "true or false";
    case AttrKind::Float: return "a number";
    case AttrKind::Word: return "a word";
    case AttrKind::Integer: return "an integer";
    case AttrKind::Dim: return "a dim";
    case AttrKind::IntegerList: return "a list of integers";
    case AttrKind::DimList: return "a list of dims";
  }
  return "";
}

void verify_attrs(const Module& module, const Node& node) {
  std::set<std::string_view> seen;
  for (const Attr& attr : node.attrs) {
    const AttrDef* def = node.op->find_attr(attr.name);
    if (!def)
      fail_at(module, node.location,
              fmt::format("{} has no attribute {}", node.op->name, attr.name));
    if (!seen.insert(attr.name).second)
      fail_at(module, node.location,
              fmt::format("{}: attribute {} is given twice", node.op->name, attr.name));
    if (!fits(def->kind, attr.value))
      fail_at(module, node.location,
              fmt::format("{}: attribute {} must be {}", node.op->name, attr.name,
                          describe(def->kind)));
  }
  for (const AttrDef& def : node.op->attrs)
    if (!def.default_text && !seen.contains(def.name))
      fail_at(module, node.location,
              fmt::format("{} needs the attribute {}", node.op->name, def.name));
}

void verify_arity(const Module& module, const Node& node) {
  const OpDef& op = *node.op;
  const auto count = static_cast<int>(node.inputs.size());
  if (count < op.min_inputs || (op.max_inputs >= 0 && count > op.max_inputs)) {
    const std::string wanted = op.max_inputs < 0 ? fmt::format("at least {}", op.min_inputs)
                               : op.min_inputs == op.max_inputs
                                   ? fmt::format("{}", op.min_inputs)
                                   : fmt::format("{} to {}", op.min_inputs, op.max_inputs);
    fail_at(module, node.location,
            fmt::format("{} takes {} argument(s), not {}", op.name, wanted, count));
  }
  const auto results = static_cast<int>(node.outputs.size());
  if (op.outputs >= 0 ? results != op.outputs : results < 1)
    fail_at(module, node.location,
            fmt::format("{} has {} result(s), not {}", op.name, op.outputs, results));
}

void verify_producer(const Module& module, ValueId id) {
  const Value& value = module.value(id);
  if (value.kind != ValueKind::Result) return;
  require(value.producer >= 0 && value.producer < static_cast<int>(module.nodes.size()),
          fmt::format("{} has no producer", value.name));
  const Node& node = module.nodes[static_cast<std::size_t>(value.producer)];
  require(std::ranges::find(node.outputs, id) != node.outputs.end(),
          fmt::format("{} is no result of its producer", value.name));
}

/// A weight of blocks has codes, scales and perhaps zeros, which are weights.
void verify_blocks(const Module& module, const Value& value) {
  if (value.weight.kind != WeightSource::Kind::Blocks) return;
  const auto is_weight = [&](ValueId id) {
    return id >= 0 && id < static_cast<ValueId>(module.values.size()) &&
           module.value(id).kind == ValueKind::Weight &&
           module.value(id).type.rank() >= value.type.rank();
  };
  const std::vector<ValueId>& parts = value.weight.parts;
  require(value.kind == ValueKind::Weight && value.type.dtype == DType::f32 &&
              value.weight.block > 0 && (value.weight.bits == 4 || value.weight.bits == 8) &&
              (parts.size() == 2 || parts.size() == 3) && std::ranges::all_of(parts, is_weight),
          fmt::format("{} cannot have blocks", value.name));
}

/// A padded weight is at least as large as its part along each axis.
void verify_padded(const Module& module, const Value& value) {
  if (value.weight.kind != WeightSource::Kind::Padded) return;
  const std::vector<ValueId>& parts = value.weight.parts;
  const auto holds = [&](const Value& part) {
    return part.kind == ValueKind::Weight && part.type.dtype == value.type.dtype &&
           std::ranges::equal(part.type.dims, value.type.dims, [](Dim least, Dim size) {
             return least.constant().value_or(1) <= size.constant().value_or(0);
           });
  };
  require(value.kind == ValueKind::Weight && parts.size() == 1 && parts[0] >= 0 &&
              parts[0] < static_cast<ValueId>(module.values.size()) &&
              holds(module.value(parts[0])),
          fmt::format("{} cannot be padded", value.name));
}

/// A weight of parts is as wide as all parts together; an f32 weight may have parts of 16-bit
/// floats, which become f32 when they are loaded.
void verify_parts(const Module& module, const Value& value) {
  if (value.weight.kind != WeightSource::Kind::Parts) return;
  require(value.kind == ValueKind::Weight && !value.weight.parts.empty() && value.type.rank() > 0,
          fmt::format("{} cannot have parts", value.name));
  std::int64_t last = 0;
  for (const ValueId id : value.weight.parts) {
    require(id >= 0 && id < static_cast<ValueId>(module.values.size()),
            fmt::format("{} has part {}", value.name, id));
    const Value& part = module.value(id);
    const bool is_widened = value.type.dtype == DType::f32 && is_half(part.type.dtype);
    require(
        part.kind == ValueKind::Weight && (part.type.dtype == value.type.dtype || is_widened) &&
            part.type.rank() == value.type.rank() &&
            std::equal(part.type.dims.begin(), part.type.dims.end() - 1, value.type.dims.begin()),
        fmt::format("{} is no part of {}", part.name, value.name));
    last += part.type.dims.back().constant().value_or(0);
  }
  require(value.type.dims.back().constant() == last,
          fmt::format("the parts of {} have {} columns together", value.name, last));
}

void verify_type(const Module& module, const Value& value) {
  if (value.type.rank() > max_rank)
    fail_at(module, value.location,
            fmt::format("{} has {} dims; at most {} are supported", value.name, value.type.rank(),
                        max_rank));
  if (!is_countable(value.type))
    fail_at(module, value.location,
            fmt::format("{} is {}, with more bytes than 63 bits count", value.name,
                        to_string(value.type)));
  for (Dim dim : value.type.dims) {
    require(dim.valid() && &dim.table() == module.dims.get(),
            fmt::format("{} has a dim of no table", value.name));
    if (dim.constant().value_or(0) < 0)
      fail_at(module, value.location,
              fmt::format("{} is {}, with a negative dim", value.name, to_string(value.type)));
    if (value.kind == ValueKind::Weight && !dim.constant())
      fail_at(module, value.location,
              fmt::format("the weight {} is {}; a weight's dims must be integers", value.name,
                          to_string(value.type)));
  }
  require(value.kind != ValueKind::Constant || value.type.dims.empty(),
          "a scalar constant has dims");
}

void verify_lists(const std::vector<Texts>& texts, const std::vector<ValueId>& ports,
                  const auto& dtype_of) {
  require(texts.empty() || texts.size() == ports.size(), "not as many lists of texts as ports");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i]) continue;
    require(dtype_of(i) == DType::i64, "a port of texts is not i64");
    const std::set<std::string_view> each(texts[i]->begin(), texts[i]->end());
    require(each.size() == texts[i]->size(), "a text stands in the list of a port twice");
  }
}

/// Where outputs are declared, their types may not be known yet, and will be the declared ones.
void verify_texts(const Module& module) {
  verify_lists(module.input_texts, module.inputs,
               [&](std::size_t i) { return module.value(module.inputs[i]).type.dtype; });
  verify_lists(module.output_texts, module.outputs, [&](std::size_t i) {
    return module.output_types.empty() ? module.value(module.outputs[i]).type.dtype
                                       : module.output_types[i].dtype;
  });
  for (const std::shared_ptr<const Module>& body : module.bodies)
    require(!has_texts(*body), fmt::format("the body {} has ports of texts", body->name));
}

}  // namespace

bool is_countable(const TensorType& type) {
  auto bytes = static_cast<std::int64_t>(size_of(type.dtype));
  bool fits = true;
  for (const Dim dim : type.dims) {
    const std::optional<std::int64_t> size = dim.valid() ? dim.constant() : std::nullopt;
    if (size == 0) return true;
    if (size && __builtin_mul_overflow(bytes, *size, &bytes)) fits = false, bytes = 1;
  }
  return fits;
}

void verify_call(const Module& module, const Node& node) {
  verify_arity(module, node);
  verify_attrs(module, node);
}

void verify_node(const Module& module, int index) {
  const Node& node = module.nodes[static_cast<std::size_t>(index)];
  require(node.op != nullptr, fmt::format("node {} has no operator", index));
  const auto count = static_cast<ValueId>(module.values.size());
  for (ValueId id : node.inputs) {
    require(id >= 0 && id < count, fmt::format("node {} reads value {}", index, id));
    const Value& value = module.value(id);
    require(value.kind != ValueKind::Result || (value.producer >= 0 && value.producer < index),
            fmt::format("node {} reads {} before it is made", index, value.name));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId id = node.outputs[i];
    require(id >= 0 && id < count, fmt::format("node {} writes value {}", index, id));
    const Value& value = module.value(id);
    require(value.kind == ValueKind::Result && value.producer == index &&
                value.output_index == static_cast<int>(i),
            fmt::format("{} does not know that node {} makes it", value.name, index));
  }
  verify_call(module, node);
}

void verify_structure(const Module& module) {
  require(module.dims != nullptr, "no dim table");
  for (std::size_t i = 0; i < module.nodes.size(); ++i) verify_node(module, static_cast<int>(i));
  for (std::size_t i = 0; i < module.values.size(); ++i) {
    verify_producer(module, static_cast<ValueId>(i));
    if (module.values[i].kind != ValueKind::Result) verify_type(module, module.values[i]);
    verify_parts(module, module.values[i]);
    verify_blocks(module, module.values[i]);
    verify_padded(module, module.values[i]);
  }
  const auto known = [&](ValueId id) {
    return id >= 0 && id < static_cast<ValueId>(module.values.size());
  };
  for (ValueId id : module.inputs)
    require(known(id) && module.value(id).kind == ValueKind::Input,
            fmt::format("input {} is none", id));
  for (ValueId id : module.states)
    require(known(id) && module.value(id).kind == ValueKind::State,
            fmt::format("state {} is none", id));
  for (ValueId id : module.outputs) require(known(id), fmt::format("output {} is no value", id));
  require(module.output_names.size() == module.outputs.size(),
          "not as many output names as outputs");
  require(module.output_types.empty() || module.output_types.size() == module.outputs.size(),
          "not as many declared output types as outputs");
  verify_texts(module);
  verify_states(module);
}

void verify(const Module& module) {
  verify_structure(module);
  std::set<std::string_view> names;
  for (const Value& value : module.values) {
    if (value.kind == ValueKind::Result) verify_type(module, value);
    if (value.kind == ValueKind::Constant || value.name.empty()) continue;
    if (!names.insert(value.name).second)
      fail_at(module, value.location, fmt::format("{} is defined twice", value.name));
  }
}

}  // namespace dyn::graph
