// Resize and Upsample.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "graph/ir/scalars.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/axis_order.hpp"
#include "src/import/onnx/parts/interpolate.hpp"

namespace dyn::onnx {
namespace {

constexpr int first_resize = 10, with_sizes = 11;
constexpr std::size_t sizes_input = 3;

template <class Value, std::size_t count>
Value named(NodeContext& node, const char* attribute, const char* default_name,
            const std::pair<const char*, Value> (&values)[count]) {
  const std::string name = node.word(attribute, default_name);
  for (const auto& [each, value] : values) {
    if (name == each) return value;
  }
  node.fail(fmt::format("{} {} is unknown", attribute, name));
}

/// Upsample and the first Resize count from the left, and round towards the elements that are kept.
Resizing first_resizing(NodeContext& node) {
  using Curve = Resizing::Curve;
  Resizing resizing;
  resizing.curve = named<Curve>(
      node, "mode", "nearest",
      {{"nearest", Curve::Nearest}, {"linear", Curve::Linear}, {"bilinear", Curve::Linear}});
  resizing.coordinates = Resizing::Coordinates::Asymmetric;
  resizing.rounding = Resizing::Rounding::CeilWhereSmaller;
  return resizing;
}

Resizing resizing_of(NodeContext& node) {
  if (node.opset() < with_sizes || node.node().op_type() == "Upsample") return first_resizing(node);
  using Curve = Resizing::Curve;
  using Coordinates = Resizing::Coordinates;
  using Rounding = Resizing::Rounding;
  Resizing resizing;
  resizing.curve = named<Curve>(
      node, "mode", "nearest",
      {{"nearest", Curve::Nearest}, {"linear", Curve::Linear}, {"cubic", Curve::Cubic}});
  resizing.coordinates =
      named<Coordinates>(node, "coordinate_transformation_mode", "half_pixel",
                         {{"half_pixel", Coordinates::HalfPixel},
                          {"half_pixel_symmetric", Coordinates::SymmetricHalfPixel},
                          {"pytorch_half_pixel", Coordinates::PytorchHalfPixel},
                          {"tf_half_pixel_for_nn", Coordinates::HalfPixelForNearest},
                          {"align_corners", Coordinates::AlignCorners},
                          {"asymmetric", Coordinates::Asymmetric},
                          {"tf_crop_and_resize", Coordinates::Crop}});
  resizing.rounding = named<Rounding>(node, "nearest_mode", "round_prefer_floor",
                                      {{"round_prefer_floor", Rounding::PreferFloor},
                                       {"round_prefer_ceil", Rounding::PreferCeil},
                                       {"floor", Rounding::Floor},
                                       {"ceil", Rounding::Ceil}});
  resizing.antialias = node.integer("antialias", 0) != 0 && resizing.curve != Curve::Nearest;
  resizing.exclude_outside = node.integer("exclude_outside", 0) != 0;
  resizing.cubic_a = static_cast<float>(node.number("cubic_coeff_a", -0.75));
  resizing.extrapolation = static_cast<float>(node.number("extrapolation_value", 0));
  return resizing;
}

/// The fraction with the least denominator that rounds to this float: the value that a scale such
/// as 0.7 had before it became a float.
std::pair<std::int64_t, std::int64_t> fraction_of(float number) {
  constexpr std::int64_t greatest = 1 << 24;
  std::int64_t above = 1, above_before = 0, below = 0, below_before = 1;
  double rest = static_cast<double>(number);
  while (true) {
    const double whole = std::floor(rest);
    const auto factor = static_cast<std::int64_t>(whole);
    above_before = std::exchange(above, factor * above + above_before);
    below_before = std::exchange(below, factor * below + below_before);
    const bool is_it =
        static_cast<float>(static_cast<double>(above) / static_cast<double>(below)) == number;
    if (is_it || below > greatest || rest == whole) return {above, below};
    rest = 1 / (rest - whole);
  }
}

/// A known size is rounded as the operator's definition does, in f32.
Dim scaled_size(NodeContext& node, Dim in, float scale) {
  if (const std::optional<std::int64_t> known = in.constant())
    return node.dims().constant(
        graph::saturated(DType::i64, std::floor(static_cast<float>(*known) * scale)));
  const auto [above, below] = fraction_of(scale);
  return floordiv(in * above, node.dims().constant(below));
}

std::vector<float> scales_of(NodeContext& node, std::size_t input) {
  std::vector<float> scales;
  if (input == 0) {
    const AttributeProto* attribute = node.attribute("scales");
    if (attribute == nullptr) node.fail("it needs scales");
    scales.assign(attribute->floats().begin(), attribute->floats().end());
  } else {
    const Tensor* tensor = node.constant(input);
    if (tensor == nullptr)
      node.fail_unsupported("its scales must be constant; sizes may depend on the graph's dims");
    for (const double each : numbers_of(*tensor)) scales.push_back(static_cast<float>(each));
  }
  constexpr float greatest = 1 << 24;  // the limit of fraction_of
  if (std::ranges::any_of(
          scales, [](float scale) { return !(scale >= 1 / greatest && scale <= greatest); }))
    node.fail("its scales must be above 0, and between 2^-24 and 2^24");
  return scales;
}

/// The least or the greatest of the axes' scales for all of them.
void keep_aspect_ratio(NodeContext& node, std::vector<AxisRequest>& requests, bool larger) {
  const Dims sizes = [&] {
    Dims all;
    for (const AxisRequest& each : requests) all.push_back(each.out);
    return all;
  }();
  std::optional<TensorExpr> scale;
  bool known = true;
  std::optional<float> number;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    known = known && sizes[i].constant() && requests[i].in.constant();
    const TensorExpr ratio =
        size(node, sizes[i], DType::f32) / size(node, requests[i].in, DType::f32);
    scale = !scale ? ratio : larger ? maximum(*scale, ratio) : minimum(*scale, ratio);
    if (!known) continue;
    const float value =
        static_cast<float>(*sizes[i].constant()) / static_cast<float>(*requests[i].in.constant());
    number = !number ? value : larger ? std::max(*number, value) : std::min(*number, value);
  }
  for (AxisRequest& request : requests) {
    // sizes[j] / in[j] * in, rounded to nearest, halves up; the least or greatest of these over j.
    std::optional<Dim> out;
    for (std::size_t j = 0; j < requests.size(); ++j) {
      const Dim divisor = max(requests[j].in * 2, node.dims().constant(1)),
                by_axis = floordiv(sizes[j] * request.in * 2 + requests[j].in, divisor);
      out = !out ? by_axis : larger ? max(*out, by_axis) : min(*out, by_axis);
    }
    request.out = *out;
    if (known)
      request.scale = number;
    else
      request.scale_value = scale;
  }
}

void take_parts(NodeContext& node, std::vector<AxisRequest>& requests) {
  constexpr std::size_t roi = 1;
  const std::size_t count = requests.size();
  if (!node.has(roi)) node.fail("it needs roi, the part of the tensor that is taken");
  if (const Tensor* tensor = node.constant(roi)) {
    const std::vector<double> ends = numbers_of(*tensor);
    if (ends.size() != 2 * count)
      node.fail(fmt::format("roi has {} elements for {} axes", ends.size(), count));
    for (std::size_t i = 0; i < count; ++i)
      requests[i].part = {static_cast<float>(ends[i]), static_cast<float>(ends[count + i])};
    return;
  }
  const TensorExpr all = input_expr(node, roi);
  const auto at = [&](std::size_t i) {
    return reshape(slice(all, 0, node.dims().constant(static_cast<std::int64_t>(i)),
                         node.dims().constant(static_cast<std::int64_t>(i) + 1)),
                   {});
  };
  for (std::size_t i = 0; i < count; ++i) requests[i].part_values = {at(i), at(count + i)};
}

/// The elements of an input that must be a vector, where they are known.
std::optional<std::int64_t> vector_length(NodeContext& node, std::size_t input) {
  node.require_rank(input, 1);
  return node.type_of(input).dims[0].constant();
}

std::vector<AxisRequest> requests_of(NodeContext& node, const Resizing& resizing,
                                     const Dims& dims) {
  const bool is_upsample = node.node().op_type() == "Upsample";
  const bool has_sizes = !is_upsample && node.opset() >= with_sizes && node.has(sizes_input) &&
                         vector_length(node, sizes_input) != 0;
  const std::size_t scales_input = node.opset() < 9                           ? 0
                                   : is_upsample || node.opset() < with_sizes ? 1
                                                                              : 2;
  Integers axes(dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto given = node.integers("axes")) axes = *given;
  const Dims sizes = has_sizes ? node.need_dims(sizes_input, "sizes") : Dims{};
  const std::vector<float> scales =
      has_sizes ? std::vector<float>{} : scales_of(node, scales_input);
  if ((has_sizes ? sizes.size() : scales.size()) != axes.size())
    node.fail(fmt::format("it has {} sizes or scales for {} axes",
                          has_sizes ? sizes.size() : scales.size(), axes.size()));
  std::vector<AxisRequest> requests;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    AxisRequest request;
    request.axis = node.axis(axes[i], static_cast<int>(dims.size()));
    request.in = dims[static_cast<std::size_t>(request.axis)];
    request.out = has_sizes ? sizes[i] : scaled_size(node, request.in, scales[i]);
    if (!has_sizes) request.scale = scales[i];
    requests.push_back(request);
  }
  if (resizing.coordinates == Resizing::Coordinates::Crop) take_parts(node, requests);
  const std::string policy = node.word("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    node.fail(fmt::format("keep_aspect_ratio_policy {} is unknown", policy));
  if (has_sizes && policy != "stretch") keep_aspect_ratio(node, requests, policy == "not_smaller");
  return requests;
}

/// An axis of the same size that is taken whole.
bool changes_nothing(const Resizing& resizing, const AxisRequest& request) {
  if (resizing.coordinates == Resizing::Coordinates::Crop && request.part != std::pair{0.0F, 1.0F})
    return false;
  if (request.scale) return *request.scale == 1;
  return !request.scale_value && graph::prove_equal(request.in, request.out) == true;
}

/// Where batch and channels keep their sizes, channels stand last meanwhile, as in the convolutions
/// around.
void convert_resize(NodeContext& node) {
  const Resizing resizing = resizing_of(node);
  TensorExpr x = input_expr(node, 0);
  const Dims dims = x.dims();
  std::vector<AxisRequest> requests = requests_of(node, resizing, dims);
  std::erase_if(requests,
                [&](const AxisRequest& request) { return changes_nothing(resizing, request); });
  if (requests.empty()) return node.give(node.operand(0));
  const bool is_image =
      dims.size() >= 3 &&
      std::ranges::all_of(requests, [](const AxisRequest& request) { return request.axis >= 2; });
  if (is_image) {
    x = {node, channels_last(node, x.id())};
    for (AxisRequest& request : requests) --request.axis;
  }
  for (const AxisRequest& request : requests) x = interpolate(x, resizing, request);
  node.give(is_image ? channels_first(node, x.id()) : x.id());
}

}  // namespace

Family resize_operators() {
  return {{"Resize", convert_resize, Halves::InF32}, {"Upsample", convert_resize, Halves::InF32}};
}

}  // namespace dyn::onnx
