// Operators that make or change features: Scaler, Normalizer, Imputer, Binarizer,
// FeatureVectorizer, ArrayFeatureExtractor.

#include <cmath>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

/// The input, of one or two dims; one dim is a row.
TensorExpr row_or_rows(NodeContext& node, std::size_t input = 0) {
  const TensorExpr x = input_expr(node, input);
  if (x.rank() != 1 && x.rank() != 2)
    node.fail(fmt::format("its input must have one or two dims, not {}", x.rank()));
  return x;
}

/// A list along the last axis, or one number for all of it, in x's dtype.
template <class Number>
TensorExpr along_features(const TensorExpr& x, const std::vector<Number>& list, const char* what) {
  NodeContext& node = x.node();
  const std::optional<std::int64_t> features = x.dims().back().constant();
  const auto count = static_cast<std::int64_t>(list.size());
  if (count == 0 || (count != 1 && features && *features != count))
    node.fail(fmt::format("{} has {} elements; it needs 1, or as many as features, which are {}",
                          what, count, to_string(x.dims().back())));
  if constexpr (std::is_same_v<Number, double>)
    return numbers(node, x.dtype(), {count}, list);
  else
    return cast(integers(node, {count}, list), x.dtype());
}

/// (x - offset) * scale, whose result is f32.
void convert_scaler(NodeContext& node) {
  const TensorExpr given = row_or_rows(node);
  const TensorExpr x = given.dtype() == DType::f64 ? given : cast(given, DType::f32);
  const TensorExpr offset = along_features(x, node.numbers("offset"), "offset"),
                   scale = along_features(x, node.numbers("scale"), "scale");
  node.give(cast((x - offset) * scale, DType::f32).id());
}

/// A row whose norm is 0 stays.
void convert_normalizer(NodeContext& node) {
  const TensorExpr x = cast(row_or_rows(node), DType::f32);
  const std::string norm = node.word("norm", "MAX");
  const std::int64_t last = x.rank() - 1;
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    node.fail(fmt::format("norm {} is unknown", norm));
  const TensorExpr length = norm == "MAX"  ? reduce("reduce_max", x, {last}, true)
                            : norm == "L1" ? reduce("reduce_sum", abs(x), {last}, true)
                                           : sqrt(reduce("reduce_sum", x * x, {last}, true));
  node.give((x / where(equal(length, 0.0), 1.0, length)).id());
}

/// A value that stands for what is missing is replaced; a NaN may stand for it.
void convert_imputer(NodeContext& node) {
  const TensorExpr x = row_or_rows(node);
  if (!is_float(x.dtype())) {
    const std::int64_t replaced = node.integer("replaced_value_int64", 0);
    const TensorExpr values = along_features(
        x, node.integers("imputed_value_int64s").value_or(Integers()), "imputed_value_int64s");
    const TensorExpr stands_for_it = cast(integers(node, {1}, {replaced}), x.dtype());
    return node.give(where(equal(x, stands_for_it), values, x).id());
  }
  const double replaced = node.number("replaced_value_float", 0);
  const TensorExpr values =
      along_features(x, node.numbers("imputed_value_floats"), "imputed_value_floats");
  const TensorExpr is_missing = std::isnan(replaced) ? apply("isnan", {x}) : equal(x, replaced);
  node.give(where(is_missing, values, x).id());
}

void convert_binarizer(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0);
  const double threshold = node.number("threshold", 0);
  const TensorExpr wide = is_float(x.dtype()) ? x : cast(x, DType::f32);
  node.give(cast(less(wide.scalar(threshold), wide), x.dtype()).id());
}

/// The first columns of an input, or all of them and zeros: as many as its inputdimension says.
TensorExpr widened(NodeContext& node, std::size_t input, std::int64_t width) {
  const TensorExpr given = cast(input_expr(node, input), DType::f32);
  if (given.rank() == 0) node.fail(fmt::format("its input {} is a scalar", input));
  Dims dims = given.dims();
  if (given.rank() == 1) dims.insert(dims.begin(), node.dims().constant(1));
  const Dim columns = product(node, {dims.begin() + 1, dims.end()});
  const TensorExpr x = reshape(given, {dims[0], columns});
  const Dim wanted = node.dims().constant(width), zero = node.dims().constant(0);
  const std::optional<std::int64_t> known = columns.constant();
  if (known == width) return x;
  if (!known || *known > width) return slice(x, 1, zero, wanted);
  return concat({x, expand(x.scalar(0), {dims[0], node.dims().constant(width - *known)})}, 1);
}

void convert_feature_vectorizer(NodeContext& node) {
  const Integers widths = node.integers("inputdimensions").value_or(Integers());
  if (widths.size() != node.inputs())
    node.fail(fmt::format("inputdimensions has {} elements, but there are {} inputs", widths.size(),
                          node.inputs()));
  std::vector<TensorExpr> parts;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] < 0) node.fail(fmt::format("an inputdimension is {}", widths[i]));
    parts.push_back(widened(node, i, widths[i]));
  }
  node.give(concat(parts, 1).id());
}

/// Columns of the last axis; those of a vector are a row.
void convert_array_feature_extractor(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0), places = input_expr(node, 1);
  if (x.rank() == 0) node.fail("its input is a scalar");
  const TensorExpr list = reshape(places, {product(node, places.dims())});
  const TensorExpr chosen = gather(x, list, x.rank() - 1);
  node.give((x.rank() == 1 ? unsqueeze(chosen, 0) : chosen).id());
}

}  // namespace

Family feature_operators() {
  return {{"Scaler", convert_scaler},
          {"Normalizer", convert_normalizer},
          {"Imputer", convert_imputer},
          {"Binarizer", convert_binarizer},
          {"FeatureVectorizer", convert_feature_vectorizer},
          {"ArrayFeatureExtractor", convert_array_feature_extractor}};
}

}  // namespace dyn::onnx
