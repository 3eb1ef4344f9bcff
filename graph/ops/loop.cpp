// `loop` runs a body, a graph of its own, for as many steps as values decide.

#include "graph/ops/loop.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

constexpr DType steps_dtype[] = {DType::i64};

std::size_t count(InferContext& context, std::string_view name) {
  const std::int64_t value = context.integer(name);
  if (value < 0) context.fail(fmt::format("loop: {} is {}", name, value));
  return static_cast<std::size_t>(value);
}

/// Fails where the counts are more than there are operands and results.
LoopPlaces checked_places(InferContext& context, const Module& body) {
  const Node& node = context.node();
  const std::size_t carried = count(context, "carried"), scanned = count(context, "scanned");
  if (LoopPlaces::first + carried + scanned > node.inputs.size())
    context.fail(fmt::format("loop: it has {} operands, which are no {} carried and {} scanned",
                             node.inputs.size(), carried, scanned));
  if (carried > node.outputs.size())
    context.fail(
        fmt::format("loop: it has {} results for {} carried", node.outputs.size(), carried));
  const LoopPlaces places = loop_places(node);
  if (body.inputs.size() != places.inputs())
    context.fail(fmt::format("loop: its body {} has {} inputs, and gets {}", body.name,
                             body.inputs.size(), places.inputs()));
  const std::size_t outputs = places.first_output() + carried + places.collected;
  if (body.outputs.size() != outputs)
    context.fail(fmt::format("loop: its body {} has {} outputs, not {}", body.name,
                             body.outputs.size(), outputs));
  return places;
}

/// `type` must fit the body's: dtype, rank, and dims where both are numbers.
void require_type(InferContext& context, const TensorType& type, const Value& in_body,
                  const std::string& what) {
  const TensorType& wanted = in_body.type;
  bool fits = type.dtype == wanted.dtype && type.rank() == wanted.rank();
  for (std::size_t i = 0; fits && i < type.dims.size(); ++i) {
    const auto size = type.dims[i].constant(), wanted_size = wanted.dims[i].constant();
    fits = !size || !wanted_size || *size == *wanted_size;
  }
  if (!fits)
    context.fail(fmt::format("loop: {} is {}, but {} of its body is {}", what, to_string(type),
                             in_body.name, to_string(wanted)));
}

void check_inputs(InferContext& context, const LoopPlaces& places, const Module& body) {
  require_dtype(context, LoopPlaces::steps, steps_dtype);
  require_dtype(context, LoopPlaces::condition, bool_dtypes);
  for (std::size_t i = 0; i < places.inputs(); ++i) {
    TensorType type = context.input(i);
    const bool is_scanned = i >= places.first_scanned() && i < places.first_captured();
    if (is_scanned) {
      require_min_rank(context, i, 1);
      type.dims.erase(type.dims.begin());
    }
    require_type(context, type, body.value(body.inputs[i]),
                 input_name(context, i) + (is_scanned ? " at one step" : ""));
  }
}

void check_outputs(InferContext& context, const LoopPlaces& places, const Module& body) {
  if (places.conditional) {
    const TensorType& type = body.value(body.outputs[0]).type;
    if (type.dtype != DType::boolean || type.rank() != 0)
      context.fail(fmt::format("loop: the condition that its body gives is {}, not bool[]",
                               to_string(type)));
  }
  for (std::size_t i = 0; i < places.carried; ++i) {
    const Value& given = body.value(body.inputs[LoopPlaces::first + i]);
    const TensorType &before = given.type,
                     &after = body.value(body.outputs[places.first_output() + i]).type;
    if (before.dtype != after.dtype || before.rank() != after.rank())
      context.fail(fmt::format("loop: {} of its body is {} before a step, and {} after it",
                               given.name, to_string(before), to_string(after)));
  }
}

/// True where something before the loop, or the graph's inputs, give the dim its value.
bool is_given(const InferContext& context, Dim dim) {
  bool given = !dim.symbol();
  const auto look_at = [&](const TensorType& type) {
    for (const Dim other : type.dims)
      for_each_symbol(other, [&](int symbol) { given = given || symbol == *dim.symbol(); });
  };
  if (!given) {
    for (const ValueId input : context.module().inputs) look_at(context.module().value(input).type);
    for (std::size_t i = 0; i < context.input_count(); ++i) look_at(context.input(i));
  }
  return given;
}

/// Describes a dim: its value, or that this loop gives it one.
Dim claim(InferContext& context, std::string_view name, Dim dim) {
  return is_given(context, dim) ? dim : define_symbol(context, name, dim);
}

void infer_loop(InferContext& context, std::vector<TensorType>& outputs) {
  const Module* body = find_body(context.module(), context.word("body"));
  if (body == nullptr)
    context.fail(
        fmt::format("loop: there is no body {}; bodies stand before the graphs that run "
                    "them",
                    context.word("body")));
  const LoopPlaces places = checked_places(context, *body);
  check_inputs(context, places, *body);
  check_outputs(context, places, *body);
  const Dim steps = claim(context, "steps", context.dim("steps"));
  const std::vector<Dim> dims = context.dim_list("dims");
  std::size_t next = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorType& type = body->value(body->outputs[places.first_output() + i]).type;
    outputs[i].dtype = type.dtype;
    if (i >= places.carried) outputs[i].dims.push_back(steps);
    for (int axis = 0; axis < type.rank(); ++axis, ++next)
      outputs[i].dims.push_back(next < dims.size() ? claim(context, "dims", dims[next]) : Dim());
  }
  if (next != dims.size())
    context.fail(fmt::format("loop: dims has {} entries for {} of its results", dims.size(), next));
}

}  // namespace

LoopPlaces loop_places(const Node& loop) {
  LoopPlaces places;
  places.carried = static_cast<std::size_t>(attr_integer(loop, "carried"));
  places.scanned = static_cast<std::size_t>(attr_integer(loop, "scanned"));
  places.captured = loop.inputs.size() - LoopPlaces::first - places.carried - places.scanned;
  places.collected = loop.outputs.size() - places.carried;
  places.conditional = attr_boolean(loop, "conditional");
  return places;
}

std::vector<OpDef> loop_ops() {
  return {
      {OpId::Loop,
       OpClass::Host,
       2,
       -1,
       -1,
       {{"body", AttrKind::Word, std::nullopt, "the body that each step runs"},
        {"carried", AttrKind::Integer, "0", "how many values go on from step to step"},
        {"scanned", AttrKind::Integer, "0", "of how many tensors each step gets a slice"},
        {"conditional", AttrKind::Boolean, "false",
         "the body's first output says if there is another step"},
        {"steps", AttrKind::Dim, std::nullopt,
         "the number of steps; a dim that nothing else gives a value gets it from this operator"},
        {"dims", AttrKind::DimList, "[]",
         "the dims of the carried results, then those of one step of the others, one behind the "
         "other; dims that nothing else gives a value get it from this operator"}},
       infer_loop,
       "Runs a body for a number of steps, or while a condition holds. Arguments: the most steps, "
       "the condition, the first carried values, the scanned tensors, and values that all steps "
       "share. Results: the last carried values, then what each step makes beside them, stacked. "
       "The body's inputs are the number of the step, the condition, the carried values, a slice "
       "of each scanned tensor, and the shared values; its outputs the next condition if "
       "`conditional`, the carried values, and what is stacked.",
       "steps and condition: []; the others any. A scanned tensor has as many slices along its "
       "first axis as there may be steps. Carried values may have other sizes after a step.",
       "steps i64, condition bool, the others any. Carried values keep their dtype",
       "Operands that do not fit the body. When run: sizes other than `steps` and `dims` say, "
       "steps that make slices of several shapes, and more steps than Options::max_loop_steps.",
       {"steps", "dims"}},
  };
}

}  // namespace dyn::graph
