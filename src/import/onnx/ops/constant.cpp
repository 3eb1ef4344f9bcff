// Constants, and tensors that sizes make.

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "graph/ir/scalars.hpp"
#include "src/import/onnx/functions.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/sizes/known_ints.hpp"
#include "src/import/onnx/texts/text_node.hpp"

namespace dyn::onnx {
namespace {

template <class T, class Field>
Tensor tensor_of(DType dtype, std::vector<std::int64_t> dims, const Field& elements) {
  Tensor tensor{dtype, std::move(dims), {}};
  for (const T element : elements)
    tensor.bytes.append(reinterpret_cast<const char*>(&element), sizeof(T));
  return tensor;
}

void convert_constant(NodeContext& node) {
  if (const AttributeProto* value = node.attribute("value")) {
    if (value->t().data_type() != TensorProto::STRING) return node.give(node.take_tensor("value"));
    TensorProto texts = value->t();
    return node.give(texts_operand(texts));
  }
  if (const AttributeProto* value = node.attribute("value_float"))
    return node.give(tensor_of<float>(DType::f32, {}, std::vector{value->f()}));
  if (const AttributeProto* value = node.attribute("value_int"))
    return node.give(tensor_of<std::int64_t>(DType::i64, {}, std::vector{value->i()}));
  if (const AttributeProto* value = node.attribute("value_floats"))
    return node.give(tensor_of<float>(DType::f32, {value->floats_size()}, value->floats()));
  if (const AttributeProto* value = node.attribute("value_ints"))
    return node.give(tensor_of<std::int64_t>(DType::i64, {value->ints_size()}, value->ints()));
  if (const AttributeProto* value = node.attribute("value_string"))
    return node.give(texts_operand(TextVector{value->s()}, {}));
  if (const AttributeProto* value = node.attribute("value_strings"))
    return node.give(texts_operand(node.words("value_strings"),
                                   {static_cast<std::int64_t>(value->strings_size())}));
  node.fail_unsupported("its constant is of a kind that is not supported: a sparse tensor");
}

/// The one element that the whole result repeats: f32 0 where the attribute is left out.
Tensor element_of(NodeContext& node) {
  if (node.attribute("value") == nullptr)
    return tensor_of<float>(DType::f32, {}, std::vector{0.0F});
  Tensor element = node.take_tensor("value");
  if (element.elements() != 1)
    node.fail(fmt::format("its value must have one element, not {}", element.elements()));
  element.dims.clear();
  return element;
}

void convert_constant_of_shape(NodeContext& node) {
  const std::vector<Dim> shape = node.need_dims(0, "its shape");
  const Tensor element = element_of(node);
  const bool is_fixed =
      std::ranges::all_of(shape, [](Dim dim) { return dim.constant().has_value(); });
  constexpr std::int64_t most_short = 64;
  if (is_fixed && shape.size() <= 1 && !is_float(element.dtype) && !is_code(element.dtype) &&
      (shape.empty() || *shape[0].constant() <= most_short)) {
    Tensor tensor{element.dtype, {}, {}};
    for (const Dim dim : shape) tensor.dims.push_back(*dim.constant());
    for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.bytes += element.bytes;
    return node.give(std::move(tensor));
  }
  if (is_fixed)
    return node.give(node.builder().splat(node.node().output(0), {element.dtype, shape},
                                          numbers_of(element).front()));
  Operand scalar{graph::no_value, std::make_shared<const Tensor>(element), std::nullopt};
  node.give(node.add("expand", {node.value_of(scalar)}, {node.dim_list("shape", shape)}));
}

void convert_identity(NodeContext& node) { node.give(node.operand(0)); }

/// A scalar that is known: a dim, or a number.
Dim bound(NodeContext& node, std::size_t input, std::string_view what) {
  const std::vector<Dim> dims = node.need_dims(input, what);
  if (dims.size() != 1) node.fail(fmt::format("{} must be a scalar", what));
  return dims[0];
}

/// Sizes, or axes, that others are computed from: known where their number is.
bool give_known_range(NodeContext& node, DType dtype, Dim start, Dim end, std::int64_t delta) {
  const std::optional<std::int64_t> length = (end - start).constant();
  if (!length || (dtype != DType::i64 && dtype != DType::i32)) return false;
  const auto along_step = [&](std::int64_t x) {
    return delta > 0 ? x : -std::max(x, -std::numeric_limits<std::int64_t>::max());
  };
  const std::int64_t reach = along_step(*length), step = along_step(delta);
  const std::int64_t count = reach > 0 ? (reach - 1) / step + 1 : 0;
  if (count > static_cast<std::int64_t>(most_known_ints)) return false;
  KnownInts ints{dtype, false, {}};
  for (std::int64_t i = 0; i < count; ++i) ints.elements.push_back(start + i * delta);
  node.give(with_dims(std::move(ints), {count}));
  return true;
}

void convert_range(NodeContext& node) {
  const DType dtype = node.type_of(0).dtype;
  // ONNX Runtime's own Range may have none.
  const bool has_delta = node.has(2) || is_standard(node.node().domain());
  for (std::size_t i = 0; i < (has_delta ? 3 : 2); ++i) {
    if (node.constant(i) == nullptr && !node.ints(i)) return convert_steps(node);
  }
  if (is_float(dtype)) {
    // start + i * delta for whole i, as ONNX defines it.
    const double start = node.need_number(0, "start"), limit = node.need_number(1, "limit"),
                 delta = has_delta ? node.need_number(2, "delta") : 1;
    if (delta == 0) node.fail("delta is 0");
    const auto count =
        std::max<std::int64_t>(graph::saturated(DType::i64, std::ceil((limit - start) / delta)), 0);
    const ValueId places =
        node.add("range", {}, {node.dim("end", count), {"dtype", std::string(name_of(dtype))}});
    return node.give(node.add("add", {node.add("mul", {places, node.scalar(delta, places)}),
                                      node.scalar(start, places)}));
  }
  const Dim start = bound(node, 0, "start"), end = bound(node, 1, "limit"),
            delta = has_delta ? bound(node, 2, "delta") : node.dims().constant(1);
  if (!delta.constant()) node.fail_unsupported("delta must be constant");
  if (*delta.constant() == 0) node.fail("delta is 0");
  if (give_known_range(node, dtype, start, end, *delta.constant())) return;
  node.give(node.add(
      "range", {},
      {{"start", start}, {"end", end}, {"step", delta}, {"dtype", std::string(name_of(dtype))}}));
}

}  // namespace

Family constant_operators() {
  return {{"Constant", convert_constant},
          {"ConstantOfShape", convert_constant_of_shape},
          {"Identity", convert_identity},
          {"Range", convert_range}};
}

}  // namespace dyn::onnx
