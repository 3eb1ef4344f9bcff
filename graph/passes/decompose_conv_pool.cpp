#include "graph/passes/decompose_conv_pool.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/ops/sliding_window.hpp"

namespace dyn::graph {
namespace {

class ConvPoolDecomposer {
 public:
  ConvPoolDecomposer(Rewriter& rewriter, const Node& node)
      : rewriter_(rewriter), node_(node), x_(node.inputs[0]) {
    rewriter_.begin(node_, node_.op->name);
  }

  void conv();
  void max_pool();
  void average_pool();

 private:
  using Integers = std::vector<std::int64_t>;
  const std::vector<Dim>& dims(ValueId id) const { return rewriter_.type(id).dims; }
  Dim integer(std::int64_t value) { return rewriter_.module().dims->constant(value); }
  ValueId output() const { return node_.outputs[0]; }

  ValueId reshape(ValueId x, std::vector<Dim> shape, ValueId to = no_value) {
    return rewriter_.emit("reshape", {x}, {rewriter_.type(x).dtype, shape}, {{"shape", shape}}, to);
  }
  std::vector<Dim> list(const Integers& integers) {
    std::vector<Dim> result;
    for (const std::int64_t each : integers) result.push_back(integer(each));
    return result;
  }
  /// Copies the attributes of the node's windows for another operator.
  std::vector<Attr> window_attrs(const Integers& sizes) {
    std::vector<Attr> attrs{{"sizes", list(sizes)}};
    for (const char* name : {"strides", "dilations"})
      attrs.push_back({name, list(attr_integers(node_, name))});
    for (const char* name : {"before", "after"})
      attrs.push_back({name, attr_dims(rewriter_.module(), node_, name)});
    return attrs;
  }
  ValueId windows(ValueId x, const Integers& sizes, double padding);
  ValueId reduce(std::string_view op, ValueId windows, std::size_t taps, ValueId to = no_value);
  ValueId counts(const Integers& sizes);
  void product_of_windows(const Integers& sizes);
  void product_of_groups(const Integers& sizes, std::int64_t groups);
  void depthwise(const Integers& sizes);

  Rewriter& rewriter_;
  const Node& node_;
  ValueId x_;
};

/// Emits all windows of x over its axes before the channels; the elements of a window stand there
/// too, before the channels.
ValueId ConvPoolDecomposer::windows(ValueId x, const Integers& sizes, double padding) {
  const std::size_t channels = dims(x).size() - 1, first = channels - sizes.size();
  std::vector<Attr> attrs = window_attrs(sizes);
  std::vector<Dim> axes;
  for (std::size_t axis = first; axis < channels; ++axis)
    axes.push_back(integer(static_cast<std::int64_t>(axis)));
  attrs.insert(attrs.begin(), {"axes", axes});
  attrs.push_back({"value", padding});
  TensorType type = rewriter_.type(x);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    type.dims[first + i] = dims(output())[dims(output()).size() - 1 - sizes.size() + i];
  const std::vector<Dim> taps = list(sizes);
  type.dims.insert(type.dims.begin() + static_cast<std::ptrdiff_t>(channels), taps.begin(),
                   taps.end());
  return rewriter_.emit("windows", {x}, std::move(type), std::move(attrs));
}

/// Reduces each window over its elements.
ValueId ConvPoolDecomposer::reduce(std::string_view op, ValueId windows, std::size_t taps,
                                   ValueId to) {
  TensorType type = rewriter_.type(windows);
  const std::size_t channels = type.dims.size() - 1;
  Integers axes(taps);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(channels - taps));
  type.dims.erase(type.dims.begin() + static_cast<std::ptrdiff_t>(channels - taps),
                  type.dims.begin() + static_cast<std::ptrdiff_t>(channels));
  return rewriter_.emit(op, {windows}, std::move(type), {{"axes", list(axes)}, {"keepdims", false}},
                        to);
}

void ConvPoolDecomposer::max_pool() {
  const Integers sizes = attr_integers(node_, "sizes");
  reduce("reduce_max", windows(x_, sizes, -std::numeric_limits<double>::infinity()), sizes.size(),
         output());
}

/// Counts the elements that each window has inside of x: [o..., 1].
ValueId ConvPoolDecomposer::counts(const Integers& sizes) {
  const std::vector<Dim>& all = dims(x_);
  std::vector<Dim> shape(all.end() - 1 - static_cast<std::ptrdiff_t>(sizes.size()), all.end() - 1);
  shape.push_back(integer(1));
  const ValueId ones = rewriter_.emit("expand", {rewriter_.number(DType::f32, 1)},
                                      {DType::f32, shape}, {{"shape", shape}});
  return reduce("reduce_sum", windows(ones, sizes, 0), sizes.size());
}

void ConvPoolDecomposer::average_pool() {
  const Integers sizes = attr_integers(node_, "sizes");
  const ValueId sum = reduce("reduce_sum", windows(x_, sizes, 0), sizes.size());
  const std::vector<SlidingWindow> along = windows_of(rewriter_.module(), node_);
  const bool all_count = attr_boolean(node_, "include_padding") ||
                         std::ranges::none_of(along, &SlidingWindow::is_padded);
  double taps = 1;
  for (const std::int64_t size : sizes) taps *= static_cast<double>(size);
  const ValueId count = all_count ? rewriter_.number(DType::f32, taps) : counts(sizes);
  rewriter_.emit("div", {sum, count}, rewriter_.type(output()), {}, output());
}

void ConvPoolDecomposer::product_of_windows(const Integers& sizes) {
  const ValueId w = node_.inputs[1];
  // The depth is known from w; the dims of x may be compared with it only when sizes are known.
  Dim depth = dims(w)[dims(w).size() - 2];
  for (const std::int64_t size : sizes) depth = depth * size;
  const ValueId matrix = reshape(w, {depth, dims(w).back()});
  const std::vector<SlidingWindow> along = windows_of(rewriter_.module(), node_, sizes);
  if (std::ranges::all_of(along, &SlidingWindow::is_identity)) {
    rewriter_.emit("matmul", {x_, matrix}, rewriter_.type(output()), {}, output());
  } else {
    std::vector<Attr> attrs = window_attrs(sizes);
    attrs.push_back({"value", integer(attr_integer(node_, "value"))});
    rewriter_.emit("window_matmul", {x_, matrix}, rewriter_.type(output()), std::move(attrs),
                   output());
  }
}

void ConvPoolDecomposer::product_of_groups(const Integers& sizes, std::int64_t groups) {
  const ValueId w = node_.inputs[1];
  const Dim channels = dims(w)[dims(w).size() - 2],
            results = floordiv(dims(w).back(), integer(groups));
  std::vector<Dim> split = dims(x_);
  split.back() = integer(groups);
  split.push_back(channels);
  Dim depth = channels;
  for (const std::int64_t size : sizes) depth = depth * size;
  const ValueId stacked = reshape(w, {depth, integer(groups), results});
  const ValueId matrices =
      rewriter_.emit("transpose", {stacked}, {DType::f32, {integer(groups), depth, results}},
                     {{"perm", list({1, 0, 2})}});
  TensorType type = rewriter_.type(output());
  type.dims.back() = integer(groups);
  type.dims.push_back(results);
  reshape(rewriter_.emit("window_matmul", {reshape(x_, split), matrices}, std::move(type),
                         window_attrs(sizes)),
          dims(output()), output());
}

/// One filter for each channel: no product of matrices, but a sum of products over each window.
void ConvPoolDecomposer::depthwise(const Integers& sizes) {
  const ValueId w = node_.inputs[1];
  std::vector<Dim> shape = list(sizes);
  shape.push_back(dims(w).back());
  const ValueId all = windows(x_, sizes, 0);
  const ValueId products = rewriter_.emit("mul", {all, reshape(w, shape)}, rewriter_.type(all));
  reduce("reduce_sum", products, sizes.size(), output());
}

void ConvPoolDecomposer::conv() {
  const auto& filters = dims(node_.inputs[1]);
  Integers sizes;
  for (std::size_t i = 0; i + 2 < filters.size(); ++i) sizes.push_back(*filters[i].constant());
  const std::int64_t groups = attr_integer(node_, "groups");
  const Dim channels = filters[filters.size() - 2];
  const bool has_room = dims(x_).size() + sizes.size() <= static_cast<std::size_t>(max_rank);
  if (groups == 1) return product_of_windows(sizes);
  if (channels.constant() == 1 && filters.back().constant() == groups && has_room)
    return depthwise(sizes);
  product_of_groups(sizes, groups);
}

}  // namespace

bool decompose_conv_pool(Rewriter& rewriter, const Node& node) {
  if (node.op->id == OpId::Conv)
    ConvPoolDecomposer(rewriter, node).conv();
  else if (node.op->id == OpId::MaxPool)
    ConvPoolDecomposer(rewriter, node).max_pool();
  else if (node.op->id == OpId::AveragePool)
    ConvPoolDecomposer(rewriter, node).average_pool();
  else
    return false;
  return true;
}

}  // namespace dyn::graph
