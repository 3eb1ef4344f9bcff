// Operators over sliding windows: convolution and pooling, and the primitives that they are made
// of.

#include <algorithm>

#include <fmt/format.h>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"
#include "graph/ops/sliding_window.hpp"

namespace dyn::graph {

namespace {

/// The product of two such numbers does not overflow.
constexpr std::int64_t most_of_window = (std::int64_t{1} << 31) - 1;

void require_list(const InferContext& context, const char* name, std::size_t size,
                  std::size_t wanted) {
  if (size != 0 && size != wanted)
    context.fail(fmt::format("{}: {} has {} entries for windows along {} axes",
                             context.node().op->name, name, size, wanted));
}

/// The node's windows along as many axes as `sizes` has entries.
std::vector<SlidingWindow> checked_windows(InferContext& context,
                                           std::span<const std::int64_t> sizes) {
  const auto strides = context.integers("strides"), dilations = context.integers("dilations");
  for (const auto& [name, list] : {std::pair{"strides", &strides}, {"dilations", &dilations}}) {
    require_list(context, name, list->size(), sizes.size());
    for (const std::int64_t entry : *list)
      if (entry < 1 || entry > most_of_window)
        context.fail(fmt::format("{}: {} has {}, which is not in 1 .. {}", context.node().op->name,
                                 name, entry, most_of_window));
  }
  for (const std::int64_t size : sizes)
    if (size < 1 || size > most_of_window)
      context.fail(fmt::format("{}: a window of {} elements; sizes must be in 1 .. {}",
                               context.node().op->name, size, most_of_window));
  for (const char* name : {"before", "after"}) {
    const auto list = context.dim_list(name);
    require_list(context, name, list.size(), sizes.size());
    for (std::size_t i = 0; i < list.size(); ++i)
      require_at_least(context, list[i], 0, fmt::format("{} (entry {})", name, i));
  }
  return windows_of(context.module(), context.node(), sizes);
}

/// Counts the windows along dim `axis` of x.
Dim count_windows(InferContext& context, const SlidingWindow& window, int axis) {
  const Dim extent = context.input(0).dims[static_cast<std::size_t>(axis)];
  const Dim reach = context.dims().constant((window.size - 1) * window.dilation + 1),
            padded = window.before + extent + window.after;
  context.require_less_equal(reach, padded, "the reach of a window",
                             fmt::format("{} with its padding", dim_name(context, 0, axis)));
  return floordiv(padded - reach, context.dims().constant(window.stride)) + 1;
}

void infer_windows(InferContext& context, std::vector<TensorType>& outputs) {
  const TensorType x = context.input(0);
  const std::vector<int> axes = axes_attr(context, "axes", x.rank());
  const auto sizes = context.integers("sizes");
  if (axes.empty() || !std::ranges::is_sorted(axes))
    context.fail("windows: axes must name one axis or more, in ascending order");
  require_list(context, "sizes", sizes.size(), axes.size());
  if (sizes.empty()) context.fail("windows: sizes needs one entry for each axis");
  if (x.rank() + static_cast<int>(axes.size()) > max_rank)
    context.fail(fmt::format("windows: the result would have {} dims, more than {}",
                             x.rank() + static_cast<int>(axes.size()), max_rank));
  const std::vector<SlidingWindow> windows = checked_windows(context, sizes);
  outputs[0] = x;
  for (std::size_t i = 0; i < axes.size(); ++i)
    outputs[0].dims[static_cast<std::size_t>(axes[i])] =
        count_windows(context, windows[i], axes[i]);
  std::vector<Dim> taps;
  for (const std::int64_t size : sizes) taps.push_back(context.dims().constant(size));
  outputs[0].dims.insert(outputs[0].dims.begin() + axes.back() + 1, taps.begin(), taps.end());
}

/// x's dims with the windows' counts in the place of the `count` axes before axis `end`.
std::vector<Dim> slid_dims(InferContext& context, const std::vector<SlidingWindow>& windows,
                           int end) {
  const int first = end - static_cast<int>(windows.size());
  if (first < 0)
    context.fail(fmt::format("{} with windows along {} axes needs them and channels, but {} is {}",
                             context.node().op->name, windows.size(), input_name(context, 0),
                             to_string(context.input(0))));
  std::vector<Dim> dims = context.input(0).dims;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const int axis = first + static_cast<int>(i);
    dims[static_cast<std::size_t>(axis)] = count_windows(context, windows[i], axis);
  }
  return dims;
}

/// Floats are padded with 0.
DType product_of_windows(const InferContext& context) {
  const DType dtype = product_dtype(context, single_dtypes);
  if (is_float(dtype) && context.integer("value") != 0)
    context.fail(fmt::format("{}: value must be 0 where x is {}", context.node().op->name,
                             name_of(context.input(0).dtype)));
  return dtype;
}

void infer_window_matmul(InferContext& context, std::vector<TensorType>& outputs) {
  const DType dtype = product_of_windows(context);
  const TensorType x = context.input(0), w = context.input(1);
  if (w.rank() != 2 && w.rank() != 3)
    context.fail(fmt::format("window_matmul needs a matrix, or one for each group, but {} is {}",
                             input_name(context, 1), to_string(w)));
  const auto sizes = context.integers("sizes");
  if (sizes.empty())
    context.fail("window_matmul: sizes needs one entry for each axis of the windows");
  const int grouped = w.rank() == 3, channels = x.rank() - 1;
  const std::vector<SlidingWindow> windows = checked_windows(context, sizes);
  outputs[0] = {dtype, slid_dims(context, windows, channels - grouped)};
  Dim depth = x.dims.back();
  for (const std::int64_t size : sizes) depth = depth * size;
  context.require_equal(w.dims[w.dims.size() - 2], depth, dim_name(context, 1, grouped),
                        "the product of sizes and channels");
  if (grouped)
    context.require_equal(w.dims[0], x.dims[x.dims.size() - 2], dim_name(context, 1, 0),
                          dim_name(context, 0, channels - 1));
  outputs[0].dims.back() = w.dims.back();
}

void infer_conv(InferContext& context, std::vector<TensorType>& outputs) {
  const DType dtype = product_of_windows(context);
  require_min_rank(context, 1, 3);
  const TensorType x = context.input(0), w = context.input(1);
  const std::int64_t groups = context.integer("groups");
  if (groups < 1) context.fail(fmt::format("conv: groups must be at least 1, not {}", groups));
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i + 2 < w.dims.size(); ++i) {
    const auto size = w.dims[i].constant();
    if (!size)
      context.fail(fmt::format("conv: {} is {}; the size of a window must be a number",
                               dim_name(context, 1, static_cast<int>(i)), to_string(w.dims[i])));
    sizes.push_back(*size);
  }
  const int channels = x.rank() - 1;
  outputs[0] = {dtype, slid_dims(context, checked_windows(context, sizes), channels)};
  context.require_equal(w.dims[w.dims.size() - 2] * groups, x.dims.back(),
                        dim_name(context, 1, w.rank() - 2) + " for each group",
                        dim_name(context, 0, channels));
  context.require_multiple(w.dims.back(), context.dims().constant(groups),
                           dim_name(context, 1, w.rank() - 1));
  outputs[0].dims.back() = w.dims.back();
}

void infer_pool(InferContext& context, std::vector<TensorType>& outputs) {
  const TensorType x = context.input(0);
  const auto sizes = context.integers("sizes");
  if (sizes.empty())
    context.fail(fmt::format("{}: sizes needs one entry for each axis of the windows",
                             context.node().op->name));
  if (x.rank() + static_cast<int>(sizes.size()) > max_rank)
    context.fail(fmt::format("{}: windows along {} axes of {} are too many",
                             context.node().op->name, sizes.size(), to_string(x)));
  outputs[0] = {x.dtype, slid_dims(context, checked_windows(context, sizes), x.rank() - 1)};
}

/// Returns sizes where the node has them, then the attributes of every sliding window.
std::vector<AttrDef> window_attrs(bool sizes) {
  std::vector<AttrDef> attrs;
  if (sizes)
    attrs.push_back({"sizes", AttrKind::IntegerList, std::nullopt,
                     "for each axis of the windows how many elements one has"});
  attrs.push_back({"strides", AttrKind::IntegerList, "[]",
                   "for each the distance of windows; []: 1 everywhere"});
  attrs.push_back({"dilations", AttrKind::IntegerList, "[]",
                   "for each the distance of a window's elements; []: 1 everywhere"});
  attrs.push_back({"before", AttrKind::DimList, "[]",
                   "for each how much padding stands before the axis; []: none"});
  attrs.push_back(
      {"after", AttrKind::DimList, "[]", "for each how much may be read after it; []: none"});
  return attrs;
}

std::vector<AttrDef> with(std::vector<AttrDef> attrs, AttrDef more) {
  attrs.push_back(std::move(more));
  return attrs;
}

constexpr const char* window_errors =
    "Sizes, strides or dilations below 1; negative padding; a window larger than the padded axis; "
    "lists of other lengths than there are axes";

const AttrDef padding_attr{"value", AttrKind::Integer, "0",
                           "padding; other than 0 only where x has integers"};
constexpr const char* product_dtypes =
    "f32, f16 or bf16, the same on both sides and of the result; or x of u8 or i16 and w of i8: "
    "the result is i32; or x of bf16 and w of f32, which is rounded to bf16: the result is f32";

}  // namespace

std::vector<OpDef> conv_pool_ops() {
  std::vector<AttrDef> of_windows = with(
      window_attrs(true),
      {"value", AttrKind::Float, "0", "the padding's elements; as cast gives it in another dtype"});
  of_windows.insert(of_windows.begin(), {"axes", AttrKind::IntegerList, std::nullopt,
                                         "the axes of the windows, ascending"});
  const std::string slides =
      "x: [n..., d..., C] with the windows along d...; o = floordiv(before + d + after - ((size - "
      "1) * dilation + 1), stride) + 1; ";
  return {
      {OpId::Windows, OpClass::Indexed, 1, 1, 1, of_windows, infer_windows,
       "All windows along some axes, their elements on axes of their own.",
       "x of any shape; along each axis the result has as many as there are windows, "
       "floordiv(before + dim + after - ((size - 1) * dilation + 1), stride) + 1, and after the "
       "last of these axes the sizes.",
       "Any; the result has the same dtype",
       std::string(window_errors) + "; axes that do not ascend."},
      {OpId::WindowMatmul, OpClass::Contraction, 2, 2, 1,
       with(with(window_attrs(true), padding_attr), zero_attr()), infer_window_matmul,
       "Matrix product of windows, each a row of its elements with the channels last, and a "
       "matrix; or, with groups of channels, of each group and its own matrix.",
       slides + "w: [k, O] with k = product of sizes * C; the result is [n..., o..., O]. With "
                "groups x: [n..., d..., G, C] and w: [G, k, O] give [n..., o..., G, O].",
       std::string(product_dtypes) +
           "; or x of u8 or i16, less zero, and w of f32: the result is f32",
       std::string(window_errors) + "; another k."},
      {OpId::Conv, OpClass::Compound, 2, 2, 1,
       with(with(window_attrs(false), {"groups", AttrKind::Integer, "1",
                                       "parts of the channels, each with filters of its own"}),
            padding_attr),
       infer_conv,
       "Convolution (cross-correlation), channels last. Where a filter that is not "
       "finite meets padding, their product may count as 0 or as NaN.",
       slides + "w: [size..., C / groups, O]; the result is [n..., o..., O], of which group i has "
                "the channels i * O / groups and on.",
       product_dtypes,
       std::string(window_errors) +
           "; channels that differ, or that groups does not divide; sizes that are no numbers."},
      {OpId::MaxPool, OpClass::Compound, 1, 1, 1, window_attrs(true),
       infer_for<infer_pool, number_dtypes>,
       "Greatest element of each window, channels last; padding never is it.",
       slides + "the result is [n..., o..., C]; -inf, or the least integer, where a window has "
                "padding alone.",
       number_to_number, std::string(window_errors) + "."},
      {OpId::AveragePool, OpClass::Compound, 1, 1, 1,
       with(window_attrs(true), {"include_padding", AttrKind::Boolean, "false",
                                 "whether padding counts, as elements of 0"}),
       infer_for<infer_pool, single_dtypes>, "Mean of each window, channels last.",
       slides + "the result is [n..., o..., C]; NaN where nothing counts.",
       "f32, f16 or bf16; the result has the same dtype", std::string(window_errors) + "."},
  };
}

}  // namespace dyn::graph
