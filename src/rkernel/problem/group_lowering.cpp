#include "src/rkernel/problem/group_lowering.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/codes.hpp"
#include "graph/ops/sliding_window.hpp"

namespace dyn::rkernel {

using graph::Backbone;
using graph::Coord;
using graph::Dim;
using graph::Node;
using graph::ValueId;

namespace {

/// The bits of the scalar in memory.
std::int64_t literal_bits(const graph::Value& value) {
  if (!is_float(value.type.dtype)) return value.integer;
  if (value.type.dtype == DType::f64) return std::bit_cast<std::int64_t>(value.constant);
  if (graph::is_half(value.type.dtype))
    return graph::code_of_float(value.type.dtype, value.constant);
  return static_cast<std::int64_t>(
      std::bit_cast<std::uint32_t>(static_cast<float>(value.constant)));
}

/// Operand::held of an operand that reads the value.
DType held_dtype(const graph::Module& module, ValueId id) {
  const graph::Value& value = module.value(id);
  if (value.type.dtype != DType::f32 || value.weight.kind != graph::WeightSource::Kind::Parts)
    return value.type.dtype;
  const DType first = held_dtype(module, value.weight.parts[0]);
  const bool alike = std::ranges::all_of(
      value.weight.parts, [&](ValueId part) { return held_dtype(module, part) == first; });
  return alike ? first : DType::f32;
}

/// Operand::held_coding of an operand that reads the value.
Coding held_coding(const graph::Module& module, ValueId id) {
  const graph::Value& value = module.value(id);
  if (value.weight.kind != graph::WeightSource::Kind::Blocks ||
      std::ranges::find(coding_blocks, value.weight.block) == std::end(coding_blocks))
    return {};
  const DType scale = module.value(value.weight.parts[1]).type.dtype;
  return {.block = static_cast<int>(value.weight.block),
          .scale = scale == DType::f16 ? DType::f16 : DType::f32,
          .zero_points = value.weight.parts.size() > 2,
          .bits = value.weight.bits};
}

}  // namespace

GroupLowering::GroupLowering(const graph::Module& module, const graph::Fusion& fusion,
                             const graph::Group& group)
    : module_(module),
      fusion_(fusion),
      group_(group),
      build_(problem_.exprs),
      members_(group.nodes.begin(), group.nodes.end()) {
  problem_.name = group.name;
}

Problem GroupLowering::run() {
  if (group_.backbone == Backbone::Host) {
    make_host_call();
    return std::move(problem_);
  }
  if (group_.backbone == Backbone::Recurrence) {
    make_recurrence();
    return std::move(problem_);
  }
  make_axes();
  if (group_.backbone == Backbone::Matmul) make_contraction();
  if (group_.backbone == Backbone::Attention) make_attention();
  if (group_.backbone == Backbone::Copy && group_.output_coords.empty()) {
    const auto dense = graph::dense_strides(*module_.dims, group_.extents);
    std::vector<Dim> strides(problem_.axes.size(), module_.dims->constant(0));
    for (std::size_t i = 0; i < dense.size(); ++i) {
      if (axis_of_[i] >= 0) strides[static_cast<std::size_t>(axis_of_[i])] = dense[i];
    }
    store(group_.outputs[0], copied_value(), strides, module_.dims->constant(0));
    return std::move(problem_);
  }
  for (std::size_t i = 0; i < group_.outputs.size(); ++i) {
    const ValueId id = group_.outputs[i];
    const int expr =
        group_.backbone == Backbone::Copy ? copied_value() : value(id, group_.output_coords[i], {});
    const Operand place = operand_at(id, group_.output_coords[i]);
    store(id, expr, place.strides, place.offset);
    if (is_part(id))
      problem_.operands.back().guards =
          with_guard({}, group_.output_coords[i].back(), dims_of(id).back());
  }
  return std::move(problem_);
}

/// A contraction keeps m, n and k whatever their sizes, attention keeps its last four axes, and
/// guards keep theirs. Every problem has a parallel axis.
void GroupLowering::make_axes() {
  const std::size_t count = group_.extents.size();
  const std::size_t own = group_.backbone == Backbone::Matmul      ? 3
                          : group_.backbone == Backbone::Attention ? 4
                                                                   : 0;
  const bool guarded = std::ranges::any_of(group_.nodes, [this](int id) {
    const graph::OpId op = module_.nodes[static_cast<std::size_t>(id)].op->id;
    return op == graph::OpId::Concat || op == graph::OpId::Pad || op == graph::OpId::Windows;
  });
  const Node* windows = group_.backbone == Backbone::Matmul
                            ? &module_.nodes[static_cast<std::size_t>(group_.backbone_node)]
                            : nullptr;
  if (windows != nullptr && windows->op->id != graph::OpId::WindowMatmul) windows = nullptr;
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  // The groups of a window_matmul are a batch axis before the windows.
  if (windows != nullptr && graph::has_groups(module_, *windows))
    std::rotate(order.begin(), order.end() - 3, order.end() - 2);
  axis_of_.assign(count, -1);
  for (const AxisKind kind : {AxisKind::Parallel, AxisKind::Reduction}) {
    for (const std::size_t i : order) {
      if (group_.reduced[i] != (kind == AxisKind::Reduction)) continue;
      const bool kept = guarded || windows != nullptr || i + own >= count;
      if (group_.extents[i].constant() == 1 && !kept) continue;
      axis_of_[i] = static_cast<int>(problem_.axes.size());
      problem_.axes.push_back({"", group_.extents[i], kind});
    }
    if (problem_.axes.empty())
      problem_.axes.push_back({"", module_.dims->constant(1), AxisKind::Parallel});
  }
}

/// The left operand of a window_matmul: rows of the result are windows of x.
Operand GroupLowering::windowed_operand(const Node& node, ValueId x) const {
  const auto& dims = dims_of(x);
  const auto& view = fusion_.views[static_cast<std::size_t>(x)];
  Coords coords(dims.size(), graph::fixed_coord(module_.dims->constant(0)));
  const std::size_t results = group_.extents.size() - 2;
  if (graph::has_groups(module_, node))
    coords[dims.size() - 2] = graph::axis_coord(*module_.dims, static_cast<int>(results) - 1);
  Operand operand = operand_at(x, coords);
  const std::vector<int> axes = graph::window_axes(module_, node);
  const std::vector<graph::SlidingWindow> windows = graph::windows_of(module_, node);
  WindowRows rows{{}, dims.back(), view.strides.back(), graph::attr_integer(node, "value")};
  const Dim one = module_.dims->constant(1), none = module_.dims->constant(0);
  for (std::size_t i = 0; i <= static_cast<std::size_t>(axes.back()); ++i) {
    WindowAxis part{axis_of_[i], group_.extents[i], one, one, one, none, dims[i], view.strides[i]};
    if (static_cast<int>(i) >= axes.front()) {
      const graph::SlidingWindow& window = windows[i - static_cast<std::size_t>(axes.front())];
      part.size = module_.dims->constant(window.size);
      part.stride = module_.dims->constant(window.stride);
      part.dilation = module_.dims->constant(window.dilation);
      part.before = window.before;
    }
    rows.axes.push_back(part);
  }
  operand.window = std::move(rows);
  return operand;
}

void GroupLowering::make_window_contraction(const Node& node) {
  const int k = static_cast<int>(group_.extents.size()) - 1, n = k - 1,
            grouped = graph::has_groups(module_, node), m = n - 1 - grouped;
  Coords coords;
  for (const int axis : grouped ? std::vector{n - 1, k, n} : std::vector{k, n})
    coords.push_back(graph::axis_coord(*module_.dims, axis));
  const ValueId image = graph::image_in_memory(module_, node, members_);
  const int a_value = image == node.inputs[0] ? -1 : make_image(node, image, k);
  if (a_value < 0) problem_.operands.push_back(windowed_operand(node, image));
  problem_.operands.push_back(operand_at(node.inputs[1], coords));
  exchange_operands(1, problem_.operands.size() - 1);
  const auto axis = [this](int i) { return axis_of_[static_cast<std::size_t>(i)]; };
  problem_.contraction =
      Contraction{0, 1, axis(m), axis(n), axis(k), Group::None, graph::attr_integer(node, "zero")};
  problem_.contraction->a_value = a_value;
}

/// Makes the windows of `image` operand 0, and returns the expression of the elements that the
/// group computes of it, each at its channel along axis `k` of the group.
int GroupLowering::make_image(const Node& node, ValueId image, int k) {
  Coords place(dims_of(image).size(), graph::fixed_coord(module_.dims->constant(0)));
  place.back() = graph::axis_coord(*module_.dims, k);
  const int expr = value(node.inputs[0], place, {});
  const Operand element = operand_at(image, place);
  const auto found = std::ranges::find_if(problem_.operands, [&](const Operand& operand) {
    return operand.buffer == element.buffer && operand.offset == element.offset &&
           operand.strides == element.strides;
  });
  if (found == problem_.operands.end())
    throw Error(ErrorKind::internal, fmt::format("{} computes no element of {}", group_.name,
                                                 module_.value(image).name));
  exchange_operands(0, static_cast<std::size_t>(found - problem_.operands.begin()));
  problem_.operands.front() = windowed_operand(node, image);
  return expr;
}

/// The problem has one axis, which counts the elements of the first result.
void GroupLowering::make_host_call() {
  const Node& node = module_.nodes[static_cast<std::size_t>(group_.backbone_node)];
  Dim elements = module_.dims->constant(1);
  for (const Dim dim : dims_of(node.outputs[0])) elements = elements * dim;
  problem_.axes.push_back({"", elements, AxisKind::Parallel});
  HostCall call{node, {}, {}};
  for (const ValueId id : node.inputs) call.inputs.push_back(host_part(id, false));
  for (const ValueId id : node.outputs) call.outputs.push_back(host_part(id, true));
  problem_.host = std::move(call);
}

HostPart GroupLowering::host_part(ValueId id, bool written) {
  const graph::Value& value = module_.value(id);
  HostPart part;
  part.dtype = value.type.dtype;
  part.dims = value.type.dims;
  if (value.kind == graph::ValueKind::Constant) {
    part.literal = literal_bits(value);
    return part;
  }
  const graph::View& view = fusion_.views[static_cast<std::size_t>(id)];
  Operand operand = operand_at(id, {});
  operand.written = written;
  operand.offset = module_.dims->constant(0);
  part.offset = view.offset;
  part.strides = view.strides;
  part.operand = static_cast<int>(problem_.operands.size());
  problem_.operands.push_back(std::move(operand));
  return part;
}

void GroupLowering::make_contraction() {
  const Node& node = module_.nodes[static_cast<std::size_t>(group_.backbone_node)];
  if (node.op->id == graph::OpId::WindowMatmul) return make_window_contraction(node);
  const int k = static_cast<int>(group_.extents.size()) - 1, n = k - 1, m = k - 2;
  const auto axis = [this](int i) { return axis_of_[static_cast<std::size_t>(i)]; };
  Contraction contraction{
      0, 1, axis(m), axis(n), axis(k), Group::None, graph::attr_integer(node, "zero")};
  contraction.a_value = make_factor(node, 0, {contraction.m, contraction.k});
  contraction.b_value = make_factor(node, 1, {contraction.k, contraction.n});
  for (const int product : products()) {
    if (product == group_.backbone_node) continue;
    const Node& other = module_.nodes[static_cast<std::size_t>(product)];
    contraction.others.push_back(static_cast<int>(problem_.operands.size()));
    problem_.operands.push_back(
        operand_at(other.inputs[1], graph::factor_coords(module_, other, 1)));
  }
  problem_.contraction = std::move(contraction);
}

/// Makes a factor the operand number `input`. Where the group computes its elements it is one that
/// they are computed of, which varies along both of `axes`; returns the expression, else -1.
int GroupLowering::make_factor(const Node& product, int input, const std::array<int, 2>& axes) {
  const ValueId id = product.inputs[static_cast<std::size_t>(input)];
  const Coords coords = graph::factor_coords(module_, product, input);
  const auto place = static_cast<std::size_t>(input);
  const std::size_t before = problem_.operands.size();
  if (is_loaded(id)) {
    problem_.operands.push_back(operand_at(id, coords));
    exchange_operands(place, before);
    return -1;
  }
  const int expr = value(id, coords, {});
  const auto varies = [&](const Operand& operand) {
    return std::ranges::count_if(axes, [&](int axis) {
      return operand.strides[static_cast<std::size_t>(axis)].constant() != 0;
    });
  };
  const auto first = problem_.operands.begin();
  const auto whole =
      std::max_element(first + static_cast<std::ptrdiff_t>(before), problem_.operands.end(),
                       [&](const Operand& a, const Operand& b) { return varies(a) < varies(b); });
  if (whole == problem_.operands.end())
    throw Error(ErrorKind::internal, fmt::format("{} computes {} of nothing in memory", group_.name,
                                                 module_.value(id).name));
  exchange_operands(place, static_cast<std::size_t>(whole - first));
  return expr;
}

void GroupLowering::exchange_operands(std::size_t a, std::size_t b) {
  std::swap(problem_.operands[a], problem_.operands[b]);
  for (Expr& expr : problem_.exprs) {
    if (expr.operand == static_cast<int>(a) || expr.operand == static_cast<int>(b))
      expr.operand = static_cast<int>(a + b) - expr.operand;
  }
}

/// The group's contractions, its backbone first.
std::vector<int> GroupLowering::products() const {
  std::vector<int> all{group_.backbone_node};
  for (const int id : group_.nodes) {
    if (id != group_.backbone_node &&
        module_.nodes[static_cast<std::size_t>(id)].op->op_class == graph::OpClass::Contraction)
      all.push_back(id);
  }
  return all;
}

void GroupLowering::make_attention() {
  const Node& node = module_.nodes[static_cast<std::size_t>(group_.backbone_node)];
  const int d = static_cast<int>(group_.extents.size()) - 1, keys = d - 1, n = d - 2, m = d - 3;
  const std::vector<Dim> result = [&] {
    std::vector<Dim> scores(group_.extents.begin(), group_.extents.end() - 4);
    scores.push_back(group_.extents[static_cast<std::size_t>(m)]);
    scores.push_back(group_.extents[static_cast<std::size_t>(keys)]);
    return scores;
  }();
  // Along an axis that is -1 there is one element.
  const auto operand = [&](std::size_t input, int row, int column) {
    const ValueId id = node.inputs[input];
    const auto& dims = dims_of(id);
    const std::size_t skip = result.size() - dims.size();
    const bool scaled = attr_boolean(node, "scales"), is_mask = input == (scaled ? 5U : 3U);
    Coords coords;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const bool batch = skip + i + 2 < result.size();
      const int axis = batch                           ? static_cast<int>(skip + i)
                       : skip + i + 2 == result.size() ? row
                                                       : column;
      Coord coord = axis < 0 ? graph::fixed_coord(module_.dims->constant(0))
                             : axis_coord(*module_.dims, axis);
      coords.push_back(batch || is_mask ? coord * graph::broadcast_factor(dims[i], result[skip + i])
                                        : coord);
    }
    problem_.operands.push_back(operand_at(id, coords));
    return static_cast<int>(problem_.operands.size()) - 1;
  };
  Attention attention;
  attention.q = operand(0, m, d);
  attention.k = operand(1, keys, d);
  attention.v = operand(2, keys, n);
  std::size_t mask = 3;
  if (attr_boolean(node, "scales")) {
    constexpr int single = -1;
    attention.k_scales = operand(mask++, keys, single);
    attention.v_scales = operand(mask++, keys, single);
  }
  if (node.inputs.size() > mask) attention.mask = operand(mask, m, keys);
  const auto axis = [this](int i) { return axis_of_[static_cast<std::size_t>(i)]; };
  attention.m = axis(m);
  attention.n = axis(n);
  attention.keys = axis(keys);
  attention.d = axis(d);
  attention.scale = attr_number(node, "scale");
  attention.causal = attr_boolean(node, "causal");
  problem_.attention = attention;
}

/// An output that is columns of what the group computes.
bool GroupLowering::is_part(ValueId id) const {
  return group_.backbone == Backbone::Matmul && module_.value(id).producer >= 0 &&
         producer_of(id).op->id == graph::OpId::Slice;
}

int GroupLowering::copied_value() {
  const Node& view = module_.nodes[static_cast<std::size_t>(group_.backbone_node)];
  const Coords here =
      graph::identity_coords(*module_.dims, static_cast<int>(group_.extents.size()));
  if (view.op->id == graph::OpId::Append) return value(view.inputs[1], here, {});
  if (view.op->id == graph::OpId::Reshape) return value(view.inputs[0], here, {});
  return value(view.inputs[0], *coords_through_view(module_, view, here), {});
}

void GroupLowering::store(ValueId id, int expr, const std::vector<Dim>& strides, Dim offset) {
  Operand operand;
  operand.buffer = fusion_.views[static_cast<std::size_t>(id)].base;
  operand.name = module_.value(operand.buffer).name;
  operand.dtype = dtype_of(id);
  operand.written = true;
  operand.offset = offset;
  operand.strides = strides;
  problem_.stores.push_back({expr, static_cast<int>(problem_.operands.size())});
  problem_.operands.push_back(std::move(operand));
}

ValueId GroupLowering::root_of(ValueId id) const {
  while (true) {
    const int producer = module_.value(id).producer;
    if (producer < 0 ||
        module_.nodes[static_cast<std::size_t>(producer)].op->op_class != graph::OpClass::View)
      return id;
    id = graph::viewed(module_.nodes[static_cast<std::size_t>(producer)]);
  }
}

bool GroupLowering::in_group(ValueId root) const {
  const graph::Value& value = module_.value(root);
  return value.producer < 0 ? value.kind == graph::ValueKind::Constant
                            : members_.contains(value.producer);
}

bool GroupLowering::is_loaded(ValueId id) const {
  // A view that copies is a base; other views of values that this group computes are followed.
  const bool has_memory = fusion_.views[static_cast<std::size_t>(id)].base != graph::no_value;
  const ValueId root = root_of(id);
  return !in_group(root) ||
         (has_memory && root != id && !members_.contains(module_.value(root).producer));
}

int GroupLowering::value(ValueId id, const Coords& coords, const Guards& guards) {
  const auto followed = [this](ValueId view) {
    const int producer = module_.value(view).producer;
    return producer >= 0 &&
           module_.nodes[static_cast<std::size_t>(producer)].op->op_class == graph::OpClass::View &&
           !is_loaded(view);
  };
  if (!followed(id)) return value_of_root(id, coords, guards);
  Coords place = coords;
  for (; followed(id); id = graph::viewed(producer_of(id))) {
    auto inner = coords_through_view(module_, producer_of(id), place);
    if (!inner)
      throw Error(ErrorKind::internal,
                  fmt::format("{}: {} is no affine view", group_.name, module_.value(id).name));
    place = *std::move(inner);
  }
  return value_of_root(id, place, guards);
}

int GroupLowering::value_of_root(ValueId id, const Coords& coords, const Guards& guards) {
  std::string key = std::to_string(id);
  const auto put = [&key](int axis, Dim dim) {
    key += fmt::format(",{}:{}", axis, dim.node()->id);
  };
  for (const Coord& coord : coords) {
    put(-1, coord.offset);
    for (const auto& term : coord.terms) put(term.axis, term.factor);
  }
  for (const Guard& guard : guards) {
    put(-2, guard.low), put(-2, guard.high);
    for (const auto& term : guard.terms) put(term.axis, term.factor);
  }
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const int expr = value_anew(id, coords, guards);
  known_.emplace(std::move(key), expr);
  return expr;
}

int GroupLowering::value_anew(ValueId id, const Coords& coords, const Guards& guards) {
  const graph::Value& value = module_.value(id);
  if (value.kind == graph::ValueKind::Constant) {
    if (!is_float(value.type.dtype)) return build_.integer(value.type.dtype, value.integer);
    return build_.number(value_dtype(id), rounded_as_held(id, value.constant));
  }
  return is_loaded(id) ? load(id, coords, guards) : compute(producer_of(id), coords, guards);
}

Operand GroupLowering::operand_at(ValueId id, const Coords& coords) const {
  const graph::View& view = fusion_.views[static_cast<std::size_t>(id)];
  if (view.base == graph::no_value) {
    throw Error(ErrorKind::internal, fmt::format("{} reads {}, which is not in memory", group_.name,
                                                 module_.value(id).name));
  }
  Operand operand;
  operand.name = module_.value(view.base).name;
  operand.dtype = dtype_of(id);
  operand.held = held_dtype(module_, view.base);
  operand.held_coding = held_coding(module_, view.base);
  operand.buffer = view.base;
  operand.offset = view.offset;
  operand.strides.assign(problem_.axes.size(), module_.dims->constant(0));
  for (std::size_t i = 0; i < coords.size(); ++i) {
    operand.offset = operand.offset + coords[i].offset * view.strides[i];
    for (const auto& term : coords[i].terms) {
      const int axis = axis_of_[static_cast<std::size_t>(term.axis)];
      if (axis < 0) continue;
      Dim& stride = operand.strides[static_cast<std::size_t>(axis)];
      stride = stride + term.factor * view.strides[i];
    }
  }
  return operand;
}

int GroupLowering::find_operand(Operand operand) {
  const auto same = [&](const Operand& other) {
    return !other.written && !other.window && other.buffer == operand.buffer &&
           other.offset == operand.offset && other.strides == operand.strides &&
           other.gathers == operand.gathers && other.gather_extent == operand.gather_extent &&
           other.gather_stride == operand.gather_stride && other.guards == operand.guards &&
           (operand.guards.empty() ||
            (other.fill == operand.fill && other.absent_outside == operand.absent_outside));
  };
  const auto known = std::find_if(problem_.operands.begin(), problem_.operands.end(), same);
  const auto index = static_cast<int>(known - problem_.operands.begin());
  if (known == problem_.operands.end()) problem_.operands.push_back(std::move(operand));
  return index;
}

int GroupLowering::load(ValueId id, const Coords& coords, const Guards& guards, double fill,
                        bool absent_outside) {
  Operand operand = operand_at(id, coords);
  operand.guards = guards;
  operand.fill = rounded_as_held(id, fill);
  operand.absent_outside = absent_outside && !guards.empty();
  return build_.load(value_dtype(id), find_operand(std::move(operand)));
}

}  // namespace dyn::rkernel
