// Shape arithmetic, and other shapes for the same elements.

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/sizes/freed_shape.hpp"
#include "src/import/onnx/sizes/known_ints.hpp"

namespace dyn::onnx {
namespace {

constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

Dim product(graph::DimTable& dims, const std::vector<Dim>& factors) {
  return std::accumulate(factors.begin(), factors.end(), dims.constant(1), std::multiplies());
}

void convert_shape(NodeContext& node) {
  const std::vector<Dim> dims = node.type_of(0).dims;
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto place = [rank](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = place(node.integer("start", 0)),
                     end = std::max(start, place(node.integer("end", int64_max)));
  node.give(KnownInts{DType::i64, false, {dims.begin() + start, dims.begin() + end}});
}

void convert_size(NodeContext& node) {
  node.give(KnownInts{DType::i64, true, {product(node.dims(), node.type_of(0).dims)}});
}

/// Integers that follow from sizes alone keep their values under another shape.
bool give_known(NodeContext& node, const std::vector<Dim>& shape) {
  std::optional<KnownInts> ints = node.ints_of_any_rank(0);
  if (!ints) return false;
  const auto count = static_cast<std::int64_t>(ints->elements.size());
  std::vector<std::int64_t> dims;
  std::int64_t given = 1;
  for (const Dim each : shape) {
    const std::optional<std::int64_t> dim = each.constant();
    if (!dim || *dim < -1 || *dim > static_cast<std::int64_t>(most_known_ints)) return false;
    dims.push_back(*dim);
    if (*dim != -1) given *= *dim;
    if (given > static_cast<std::int64_t>(most_known_ints)) return false;
  }
  if (const auto open = std::ranges::find(dims, -1); open != dims.end() && given > 0) {
    *open = count / given;
    given *= *open;
  }
  // Shapes that do not fit are left to the general path, which ends in an error.
  if (given != count || std::ranges::count(dims, -1) > 0) return false;
  node.give(with_dims(*std::move(ints), std::move(dims)));
  return true;
}

void give_shaped(NodeContext& node, const std::vector<Dim>& shape,
                 const std::vector<Dim>& not_one = {}) {
  if (give_known(node, shape)) return;
  std::vector<graph::Attr> attrs{node.dim_list("shape", shape)};
  if (!not_one.empty()) attrs.push_back(node.dim_list("not_one", not_one));
  node.give(node.add("reshape", {node.value(0)}, std::move(attrs)));
}

std::vector<TargetDim> asked_shape(NodeContext& node, const std::vector<Dim>& input) {
  std::vector<Dim> shape;
  if (const auto attribute = node.integers("shape")) {
    for (const std::int64_t dim : *attribute) shape.push_back(node.dims().constant(dim));
  } else {
    shape = node.need_dims(1, "its shape");
  }
  const bool zero_is_zero = node.integer("allowzero", 0) != 0;
  std::vector<TargetDim> asked;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool copies = shape[i].constant() == 0 && !zero_is_zero;
    if (copies && i >= input.size())
      node.fail(
          fmt::format("dim {} of its shape is 0, which means the input's, but that has {} dims", i,
                      input.size()));
    const auto kind = shape[i].constant() == -1        ? TargetDim::Kind::Rest
                      : copies || !shape[i].constant() ? TargetDim::Kind::Known
                                                       : TargetDim::Kind::Number;
    asked.push_back({kind, copies ? input[i] : shape[i]});
  }
  return asked;
}

/// 0 stands for the input's dim, -1 for what the others leave. Numbers were computed from the
/// file's sizes, which freed dims do not have any more.
void convert_reshape(NodeContext& node) {
  const std::vector<Dim> input = node.type_of(0).dims;
  const std::vector<TargetDim> asked = asked_shape(node, input);
  std::vector<Dim> shape;
  for (const TargetDim& dim : asked) shape.push_back(dim.dim);
  if (std::ranges::any_of(input, [&](Dim dim) { return node.sizes().depends(dim); })) {
    try {
      shape = freed_shape(input, asked, node.sizes());
    } catch (const Error& error) {
      node.fail_unsupported(
          fmt::format("its shape {} for an input {} cannot follow the dims that are freed: {}",
                      graph::to_string(shape), graph::to_string(input), error.message()));
    }
  }
  give_shaped(node, shape);
}

void convert_flatten(NodeContext& node) {
  const std::vector<Dim> dims = node.type_of(0).dims;
  const auto rank = static_cast<std::int64_t>(dims.size());
  std::int64_t axis = node.integer("axis", 1);
  if (axis < -rank || axis > rank)
    node.fail(fmt::format("axis {} is outside of a tensor with {} dims", axis, rank));
  if (axis < 0) axis += rank;
  const auto middle = dims.begin() + axis;
  give_shaped(node, {product(node.dims(), {dims.begin(), middle}),
                     product(node.dims(), {middle, dims.end()})});
}

std::vector<bool> marked(NodeContext& node, const std::vector<std::int64_t>& axes, int rank) {
  std::vector<bool> marks(static_cast<std::size_t>(rank));
  for (const std::int64_t each : axes) {
    const auto axis = static_cast<std::size_t>(node.axis(each, rank));
    if (marks[axis]) node.fail(fmt::format("axis {} is given twice", axis));
    marks[axis] = true;
  }
  return marks;
}

/// Without axes all dims of 1 go. One that a run decides stays, and must then be another.
void convert_squeeze(NodeContext& node) {
  const std::vector<Dim> dims = node.type_of(0).dims;
  const auto axes = node.integers("axes", 1);
  const std::vector<bool> removed =
      marked(node, axes.value_or(std::vector<std::int64_t>{}), static_cast<int>(dims.size()));
  std::vector<Dim> shape, not_one;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (removed[i] && dims[i].constant().value_or(1) != 1)
      node.fail(fmt::format("dim {} is {}, not 1", i, graph::to_string(dims[i])));
    if (!axes && node.sizes().depends(dims[i]) && node.sizes().of(dims[i]) == 1)
      node.fail_unsupported(fmt::format(
          "without axes it removes dims of 1, as {} is in the file: that cannot be freed",
          graph::to_string(dims[i])));
    if (axes ? removed[i] : node.is_one(dims[i])) continue;
    shape.push_back(dims[i]);
    if (!axes && !dims[i].constant() && (node.is_alone() || node.is_defined(dims[i])))
      not_one.push_back(dims[i]);
  }
  give_shaped(node, shape, not_one);
}

void convert_unsqueeze(NodeContext& node) {
  const std::vector<Dim> dims = node.type_of(0).dims;
  const auto axes = node.integers("axes", 1);
  if (!axes) node.fail("it needs axes");
  const std::vector<bool> added = marked(node, *axes, static_cast<int>(dims.size() + axes->size()));
  std::vector<Dim> shape;
  auto next = dims.begin();
  for (const bool is_new : added) shape.push_back(is_new ? node.dims().constant(1) : *next++);
  give_shaped(node, shape);
}

/// Both sides broadcast: a dim of 1 in the shape keeps the input's dim, and so does a number that
/// is the input's size in the file.
void convert_expand(NodeContext& node) {
  const std::vector<Dim> input = node.type_of(0).dims;
  std::vector<Dim> shape = node.need_dims(1, "its shape");
  if (shape.size() < input.size())
    shape.insert(shape.begin(), input.size() - shape.size(), node.dims().constant(1));
  const std::size_t skip = shape.size() - input.size();
  const Dim one = node.dims().constant(1);
  bool may_repeat = false;  // a dim that is 1 in some runs
  for (std::size_t i = skip; i < shape.size(); ++i) {
    const Dim own = input[i - skip];
    const bool is_own = shape[i].constant() && node.sizes().depends(own) &&
                        node.sizes().of(own) != 1 && node.sizes().of(own) == *shape[i].constant();
    const bool is_defined = shape[i].symbol() && node.dims().info(*shape[i].symbol()).defined;
    if (shape[i].constant() == 1 || is_own) shape[i] = own;
    // A dim that the run decides may be 1.
    else if (is_defined)
      shape[i] = max(shape[i], own);
    may_repeat = may_repeat || (shape[i].constant() && !own.constant() &&
                                !prove_equal(own, shape[i]) && !prove_equal(own, one));
  }
  const ValueId x = node.value(0);
  if (!may_repeat) return node.give(node.add("expand", {x}, {node.dim_list("shape", shape)}));
  // Operands broadcast as sizes say in a run; `expand` needs to know beforehand.
  const ValueId all = node.add("expand", {node.builder().integer(DType::boolean, 1)},
                               {node.dim_list("shape", shape)});
  node.give(node.add("where", {all, x, x}));
}

/// Before opset 6 one axis is repeated.
std::vector<Dim> repeats_of(NodeContext& node, std::size_t rank) {
  constexpr int repeats_all = 6;
  if (node.opset() >= repeats_all) return node.need_dims(1, "repeats");
  const std::vector<Dim> tiles = node.need_dims(1, "tiles");
  const std::vector<std::int64_t> axis = node.need_integers(2, "axis");
  if (tiles.size() != 1 || axis.size() != 1) node.fail("tiles and axis must have one element each");
  std::vector<Dim> repeats(rank, node.dims().constant(1));
  repeats[static_cast<std::size_t>(node.axis(axis[0], static_cast<int>(rank)))] = tiles[0];
  return repeats;
}

/// Every dim that is repeated gets one of 1 before it, which is expanded: [a, b] to [r, a, 1, b] to
/// [r * a, b].
void convert_tile(NodeContext& node) {
  const std::vector<Dim> dims = node.type_of(0).dims, repeats = repeats_of(node, dims.size());
  if (repeats.size() != dims.size())
    node.fail(
        fmt::format("repeats has {} elements, but its input {} dims", repeats.size(), dims.size()));
  std::vector<Dim> spread, repeated, shape;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i].constant() != 1) {
      spread.push_back(node.dims().constant(1));
      repeated.push_back(repeats[i]);
    }
    spread.push_back(dims[i]);
    repeated.push_back(dims[i]);
    shape.push_back(dims[i] * repeats[i]);
  }
  const ValueId apart = node.add("reshape", {node.value(0)}, {node.dim_list("shape", spread)});
  node.give(node.add("reshape", {node.add("expand", {apart}, {node.dim_list("shape", repeated)})},
                     {node.dim_list("shape", shape)}));
}

}  // namespace

Family shape_operators() {
  return {{"Shape", convert_shape},     {"Size", convert_size},
          {"Reshape", convert_reshape}, {"Flatten", convert_flatten},
          {"Squeeze", convert_squeeze}, {"Unsqueeze", convert_unsqueeze},
          {"Expand", convert_expand},   {"Tile", convert_tile}};
}

}  // namespace dyn::onnx
