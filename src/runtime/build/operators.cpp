// The program's operators as the graph sees them.

#include "dyn/operator.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/builder.hpp"
#include "graph/ir/custom_op.hpp"
#include "graph/ir/diagnostic.hpp"
#include "graph/ops/infer.hpp"
#include "graph/text/attribute_text.hpp"
#include "graph/text/lexer.hpp"
#include "graph/text/text.hpp"
#include "src/runtime/build/builder_state.hpp"
#include "src/runtime/build/given_operator.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn {
namespace {

using graph::AttrKind;

/// `work` with an error that says which function of which operator has failed.
template <class Work>
auto guarded(const std::string& op, const char* function, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw error.within(fmt::format("the {} of {}", function, op));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::device, "no memory", {fmt::format("the {} of {}", function, op)});
  } catch (const std::exception& error) {
    throw Error(ErrorKind::user, error.what(), {fmt::format("the {} of {}", function, op)});
  } catch (...) {
    throw Error(ErrorKind::user, "it threw what is no std::exception",
                {fmt::format("the {} of {}", function, op)});
  }
}

struct KindOf {
  std::pair<AttrKind, std::string> operator()(bool value) const {
    return {AttrKind::Boolean, value ? "true" : "false"};
  }
  std::pair<AttrKind, std::string> operator()(double value) const {
    return {AttrKind::Float, graph::format_number(value)};
  }
  std::pair<AttrKind, std::string> operator()(const std::string& word) const {
    if (graph::quote_name(word) != word)
      runtime::user_error(fmt::format("its default {} is no word", graph::quote_text(word)));
    return {AttrKind::Word, word};
  }
  std::pair<AttrKind, std::string> operator()(const Dim& dim) const {
    if (!dim.constant()) runtime::user_error("its default is no constant");
    return {AttrKind::Integer, dim.to_string()};
  }
  std::pair<AttrKind, std::string> operator()(const Dims& dims) const {
    for (const Dim& dim : dims)
      if (!dim.constant()) runtime::user_error("its default is no list of constants");
    return {AttrKind::IntegerList, to_string(dims)};
  }
};

bool is_name(const std::string& name) {
  return graph::quote_name(name) == name && name.find('.') == std::string::npos;
}

std::vector<graph::AttrDef> attributes_of(const Operator& from) {
  std::vector<graph::AttrDef> attributes;
  std::set<std::string_view> names(from.inputs.begin(), from.inputs.end());
  for (const OperatorAttribute& attribute : from.attributes) {
    if (!is_name(attribute.name) || !names.insert(attribute.name).second)
      runtime::user_error(
          fmt::format("the attribute `{}` has no name, or another's", attribute.name));
    try {
      auto [kind, text] = std::visit(KindOf{}, attribute.default_value.held());
      attributes.push_back({attribute.name, kind, std::move(text), ""});
    } catch (const Error& error) {
      throw error.within(fmt::format("the attribute `{}`", attribute.name));
    }
    if (attribute.required) attributes.back().default_text.reset();
  }
  return attributes;
}

graph::OpDef checked_def(const Operator& from) {
  using runtime::user_error;
  const std::string name = from.domain + "::" + from.name;
  try {
    if (!graph::is_operator_name(name) || from.name.find('.') != std::string::npos)
      user_error(
          "domain and name are letters, digits and _, and begin with a letter or _; dots "
          "may join parts of the domain");
    std::set<std::string_view> names;
    for (const std::string& input : from.inputs)
      if (!is_name(input) || !names.insert(input).second)
        user_error(fmt::format("the input `{}` has no name, or another's", input));
    if (from.optional_inputs > from.inputs.size())
      user_error(fmt::format("{} of {} inputs cannot be optional", from.optional_inputs,
                             from.inputs.size()));
    constexpr std::size_t most_ports = 1000;
    if (from.outputs < 1 || from.outputs > most_ports || from.inputs.size() > most_ports)
      user_error(
          fmt::format("it has {} inputs and {} outputs; at most {} are possible, and one "
                      "output at least",
                      from.inputs.size(), from.outputs, most_ports));
    if (!from.kernel && !from.definition && from.expression.empty())
      user_error("it has neither a kernel nor a definition nor an expression");
    if (from.definition && !from.expression.empty())
      user_error("it has a definition and an expression; one of them says what it computes");
    if (from.kernel && !from.shape && !from.definition && from.expression.empty())
      user_error("it has a kernel, but no shape function");
    if (!from.expression.empty() && (from.outputs != 1 || from.optional_inputs != 0))
      user_error("an operator with an expression has one output, and no input is optional");
    graph::OpDef def{graph::custom_op_id,
                     graph::OpClass::Host,
                     static_cast<int>(from.inputs.size() - from.optional_inputs),
                     static_cast<int>(from.inputs.size()),
                     static_cast<int>(from.outputs),
                     attributes_of(from),
                     nullptr,
                     "",
                     "",
                     "",
                     ""};
    def.name = name;
    return def;
  } catch (const Error& error) { throw error.within(fmt::format("the operator {}", name)); }
}

class GivenOperator final : public graph::CustomOp {
 public:
  explicit GivenOperator(const Operator& from) : CustomOp(checked_def(from)), given_(from) {}

  bool has_definition() const override { return given_.definition || !given_.expression.empty(); }

  void infer_types(graph::InferContext& context,
                   std::vector<graph::TensorType>& outputs) const override {
    if (!given_.expression.empty()) {
      std::vector<DType> dtypes;
      for (std::size_t i = 0; i < context.input_count(); ++i)
        dtypes.push_back(context.input(i).dtype);
      const graph::Module module = parsed(dtypes, context.node());
      outputs[0] = {module.value(module.outputs[0]).type.dtype, broadcast_inputs(context)};
      return;
    }
    if (!given_.shape) context.fail(fmt::format("{} has no shape function", name));
    infer_given(context, outputs);
  }

  std::vector<graph::ValueId> define(graph::Builder& builder,
                                     const graph::Node& node) const override {
    if (given_.expression.empty()) return add_definition(builder, node);
    return guarded(name, "expression", [&] { return add_expression(builder, node); });
  }

  void run(const graph::Node& node, std::span<const Tensor> inputs,
           std::span<Tensor> outputs) const override {
    std::vector<const void*> places;
    for (const Tensor& output : outputs) places.push_back(output.raw());
    guarded(name, "kernel", [&] {
      given_.kernel({node, inputs, outputs});
      for (std::size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i].raw() != places[i])
          runtime::user_error(fmt::format(
              "it put another tensor in place of output {}; it must fill the one that is there",
              i));
    });
  }

 private:
  void infer_given(graph::InferContext& context, std::vector<graph::TensorType>& outputs) const {
    std::vector<TensorType> types;
    const graph::Node& node = context.node();
    try {
      types = guarded(name, "shape function",
                      [&] { return in_table(given_.shape(ShapeContext(context)), context); });
    } catch (const Error& error) {
      const std::string place = place_of(context.module(), node.location);
      throw place.empty() ? error : error.within(fmt::format("{} ({})", name, place));
    }
    if (types.size() != outputs.size())
      context.fail(fmt::format("the shape function of {} gives {} types; it has {} outputs", name,
                               types.size(), outputs.size()));
    for (std::size_t i = 0; i < types.size(); ++i) {
      outputs[i] = {types[i].dtype, {}};
      for (const Dim& dim : types[i].dims) {
        outputs[i].dims.push_back(dim.in(context.module().dims));
        require_at_least(context, outputs[i].dims.back(), 0,
                         fmt::format("a size that the shape function of {} gives", name));
      }
    }
  }

  /// The types, checked for what shape propagation takes for granted.
  static std::vector<TensorType> in_table(std::vector<TensorType> types,
                                          const graph::InferContext& context) {
    for (const TensorType& type : types) {
      if (type.rank() > graph::max_rank)
        runtime::user_error(fmt::format("it gives a type of {} dims; at most {} are supported",
                                        type.rank(), graph::max_rank));
      for (const Dim& dim : type.dims) {
        runtime::check_given_size(dim);
        static_cast<void>(dim.in(context.module().dims));
      }
    }
    return types;
  }

  /// The expression over scalars of these dtypes. Attributes stand there as numbers.
  graph::Module parsed(const std::vector<DType>& dtypes, const graph::Node& node) const {
    std::vector<graph::ScalarName> names;
    for (std::size_t i = 0; i < dtypes.size(); ++i) names.push_back({given_.inputs[i], dtypes[i]});
    for (const graph::AttrDef& attr : attrs) {
      if (attr.kind == AttrKind::Float)
        names.push_back({attr.name, DType::f32, attr_number(node, attr.name)});
      if (attr.kind == AttrKind::Integer)
        names.push_back(
            {attr.name, DType::i64, static_cast<double>(attr_integer(node, attr.name))});
      if (attr.kind == AttrKind::Boolean)
        names.push_back({attr.name, DType::boolean, attr_boolean(node, attr.name) ? 1.0 : 0.0});
    }
    graph::Module module = graph::parse_scalar(given_.expression, name, names);
    for (const graph::Node& each : module.nodes) {
      const bool is_scalar = each.op->op_class == graph::OpClass::Elementwise ||
                             each.op->id == graph::OpId::Gelu || each.op->id == graph::OpId::Silu;
      if (!is_scalar)
        runtime::model_error(
            fmt::format("{}: {} does not compute element by element", name, each.op->name));
    }
    return module;
  }

  std::vector<graph::ValueId> add_expression(graph::Builder& builder,
                                             const graph::Node& node) const {
    std::vector<DType> dtypes;
    for (const graph::ValueId id : node.inputs) dtypes.push_back(builder.type(id).dtype);
    const graph::Module module = parsed(dtypes, node);
    std::vector<graph::ValueId> taken(module.values.size(), graph::no_value);
    for (std::size_t i = 0; i < module.inputs.size(); ++i)
      taken[static_cast<std::size_t>(module.inputs[i])] = node.inputs[i];
    const auto take = [&](graph::ValueId id) {
      const graph::Value& value = module.value(id);
      graph::ValueId& known = taken[static_cast<std::size_t>(id)];
      if (known == graph::no_value)
        known = is_float(value.type.dtype) ? builder.number(value.type.dtype, value.constant)
                                           : builder.integer(value.type.dtype, value.integer);
      return known;
    };
    for (const graph::Node& each : module.nodes) {
      std::vector<graph::ValueId> inputs;
      std::ranges::transform(each.inputs, std::back_inserter(inputs), take);
      std::vector<graph::Attr> attrs;
      for (const graph::Attr& attr : each.attrs)  // no scalar operator has dims in its attributes
        attrs.push_back(attr);
      taken[static_cast<std::size_t>(each.outputs[0])] =
          builder.add(each.op->name, std::move(inputs), each.op->name, std::move(attrs));
    }
    return {take(module.outputs[0])};
  }

  std::vector<graph::ValueId> add_definition(graph::Builder& builder,
                                             const graph::Node& node) const {
    const auto state = std::make_shared<runtime::BuilderState>(builder);
    struct Close {
      runtime::BuilderState& state;
      ~Close() { state.close(); }
    } const close{*state};
    return guarded(name, "definition", [&] {
      Values inputs;
      for (const graph::ValueId id : node.inputs) inputs.push_back(state->value(id));
      Builder handle = runtime::BuilderState::handle(state);
      std::vector<graph::ValueId> ids;
      const Values results = given_.definition(handle, inputs, NodeAttributes(node));
      state->require_open();
      for (const Value& value : results) ids.push_back(state->id_in(value));
      return ids;
    });
  }

  const Operator given_;
};

template <class Get>
auto attribute(const graph::Node& node, std::string_view name, AttrKind kind, const Get& get) {
  const graph::AttrDef* def = node.op->find_attr(name);
  if (def == nullptr || def->kind != kind)
    runtime::user_error(fmt::format("{} has no attribute `{}` of this kind", node.op->name, name));
  return get(node, name);
}

std::shared_ptr<const graph::CustomOps> set_of(std::span<const Operator> operators) {
  if (operators.empty()) return nullptr;
  std::vector<std::shared_ptr<const graph::CustomOp>> given;
  std::set<std::string> names;
  for (const Operator& each : operators) {
    given.push_back(runtime::make_given_operator(each));
    if (!names.insert(given.back()->name).second)
      runtime::user_error(fmt::format("two operators are called {}", given.back()->name));
  }
  return std::make_shared<const graph::CustomOps>(std::move(given));
}

}  // namespace

namespace runtime {

std::shared_ptr<const graph::CustomOp> make_given_operator(const Operator& from) {
  return std::make_shared<const GivenOperator>(from);
}

void check_given_size(const Dim& dim) {
  if (dim.high() < 0) user_error(fmt::format("it gives the negative size {}", dim.to_string()));
}

}  // namespace runtime

Operators::Operators(std::initializer_list<Operator> operators) : set_(set_of(operators)) {}
Operators::Operators(const std::vector<Operator>& operators) : set_(set_of(operators)) {}

Operators Operators::joined(const Operators& others) const {
  if (empty() || others.empty()) return empty() ? others : *this;
  Operators joined;
  joined.set_ = graph::CustomOps::joined(*set_, *others.set_);
  return joined;
}

std::vector<std::string> Operators::names() const {
  if (empty()) return {};
  const std::vector<std::string_view> names = set_->names();
  return {names.begin(), names.end()};
}

bool NodeAttributes::boolean(std::string_view name) const {
  return attribute(*node_, name, AttrKind::Boolean, graph::attr_boolean);
}
double NodeAttributes::number(std::string_view name) const {
  return attribute(*node_, name, AttrKind::Float, graph::attr_number);
}
std::int64_t NodeAttributes::integer(std::string_view name) const {
  return attribute(*node_, name, AttrKind::Integer, graph::attr_integer);
}
std::string NodeAttributes::word(std::string_view name) const {
  return attribute(*node_, name, AttrKind::Word, graph::attr_word);
}
std::vector<std::int64_t> NodeAttributes::integers(std::string_view name) const {
  return attribute(*node_, name, AttrKind::IntegerList, graph::attr_integers);
}

ShapeContext::ShapeContext(graph::InferContext& context)
    : context_(&context), attributes_(context.node()) {
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const graph::TensorType& type = context.input(i);
    TensorType& input = inputs_.emplace_back(TensorType{type.dtype, {}});
    for (const graph::Dim dim : type.dims) input.dims.emplace_back(context.module().dims, dim);
  }
}

void ShapeContext::require_equal(const Dim& a, const Dim& b, const std::string& what) const {
  const std::shared_ptr<graph::DimTable>& table = context_->module().dims;
  context_->require_equal(a.in(table), b.in(table), what, what);
}

}  // namespace dyn
