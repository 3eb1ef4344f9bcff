// Labels and categories: LabelEncoder, CategoryMapper, OneHotEncoder, and what needs maps: ZipMap,
// CastMap, DictVectorizer.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"
#include "src/import/onnx/texts/text_lookup.hpp"

namespace dyn::onnx {
namespace {

/// Keys or values of an encoder: numbers of one dtype, or texts.
struct Labels {
  std::optional<Tensor> numbers;  ///< [n]
  TextVector texts;

  std::size_t count() const {
    return numbers ? static_cast<std::size_t>(numbers->elements()) : texts.size();
  }
};

template <class T>
Tensor list_of(DType dtype, const std::vector<T>& list) {
  Tensor tensor{dtype, {static_cast<std::int64_t>(list.size())}, {}};
  tensor.bytes.assign(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T));
  return tensor;
}

Tensor floats_of(const std::vector<double>& list) {
  return list_of(DType::f32, std::vector<float>(list.begin(), list.end()));
}

/// `kind`: keys or values.
Labels labels_of(NodeContext& node, const std::string& kind) {
  const std::string tensor = kind + "_tensor";
  if (const AttributeProto* given = node.attribute(tensor)) {
    if (given->t().data_type() == TensorProto::STRING)
      return {std::nullopt, {given->t().string_data().begin(), given->t().string_data().end()}};
    Tensor list = node.take_tensor(tensor);
    list.dims = {list.elements()};
    return {std::move(list), {}};
  }
  if (const std::optional<Integers> whole = node.integers(kind + "_int64s"))
    return {list_of(DType::i64, *whole), {}};
  if (node.attribute(kind + "_floats") != nullptr)
    return {floats_of(node.numbers(kind + "_floats")), {}};
  return {std::nullopt, node.words(kind + "_strings")};
}

/// Where the input holds a key: the key's place, the first of equal ones; elsewhere the number of
/// keys.
TensorExpr places_of_numbers(NodeContext& node, const Tensor& keys) {
  const TensorExpr x = unsqueeze(input_expr(node, 0), node.type(0).rank());
  Operand operand{graph::no_value, std::make_shared<const Tensor>(keys), std::nullopt};
  const TensorExpr list = cast({node, node.value_of(operand)}, x.dtype());
  TensorExpr is_key = equal(x, list);
  if (is_float(x.dtype()))
    is_key = either(is_key, both(apply("isnan", {x}), apply("isnan", {list})));
  const Dim count = node.dims().constant(keys.elements());
  return reduce("reduce_min", where(is_key, range(node, count), size(node, count)), {x.rank() - 1},
                false);
}

TensorExpr places_of(NodeContext& node, const Labels& keys) {
  if (node.texts(0) != nullptr) {
    if (keys.numbers) node.fail("its input holds texts, but its keys are numbers");
    return places_in_keys(node, keys.texts);
  }
  if (!keys.numbers) node.fail("its input holds numbers, but its keys are texts");
  return places_of_numbers(node, *keys.numbers);
}

/// The value for what is no key, behind the values.
void append_default(NodeContext& node, Labels& values) {
  if (!values.numbers) {
    const AttributeProto* tensor = node.attribute("default_tensor");
    values.texts.push_back(tensor != nullptr && tensor->t().string_data_size() > 0
                               ? tensor->t().string_data(0)
                               : node.word("default_string", "_Unused"));
    return;
  }
  Tensor& list = *values.numbers;
  ++list.dims[0];
  if (node.attribute("default_tensor") != nullptr) {
    const Tensor last = node.take_tensor("default_tensor");
    if (last.elements() != 1 || last.dtype != list.dtype)
      node.fail(fmt::format("default_tensor must be one {}, as the values", name_of(list.dtype)));
    list.bytes += last.bytes;
    return;
  }
  const double number = node.number("default_float", -0.0);
  const std::int64_t whole = node.integer("default_int64", -1);
  const bool is_read = graph::with_element_type(list.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T last = std::is_floating_point_v<T> ? static_cast<T>(number) : static_cast<T>(whole);
    list.bytes.append(reinterpret_cast<const char*>(&last), sizeof last);
  });
  if (!is_read) node.fail_unsupported("its values are floats of 16 bits");
}

void give_values(NodeContext& node, const TensorExpr& places, Labels values) {
  if (!values.numbers) return give_texts(places, values.texts);
  node.give(gather(constant_expr(node, std::move(*values.numbers)), places, 0).id());
}

void convert(NodeContext& node, const Labels& keys, Labels values) {
  if (keys.count() != values.count())
    node.fail(fmt::format("it has {} keys, but {} values", keys.count(), values.count()));
  append_default(node, values);
  give_values(node, places_of(node, keys), std::move(values));
}

/// TextVector and their places, one the key of the other: which of them is decided by the input.
void convert_places(NodeContext& node, const TextVector& texts, const Integers& numbers) {
  Labels of_texts{std::nullopt, texts}, of_numbers{list_of(DType::i64, numbers), {}};
  if (node.texts(0) != nullptr)
    convert(node, of_texts, std::move(of_numbers));
  else
    convert(node, of_numbers, std::move(of_texts));
}

void convert_label_encoder(NodeContext& node) {
  if (node.attribute("classes_strings") == nullptr)
    return convert(node, labels_of(node, "keys"), labels_of(node, "values"));
  const TextVector texts = node.words("classes_strings");  // up to version 1 of ai.onnx.ml
  Integers numbers(texts.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  convert_places(node, texts, numbers);
}

void convert_category_mapper(NodeContext& node) {
  convert_places(node, node.words("cats_strings"),
                 node.integers("cats_int64s").value_or(Integers()));
}

/// Without `zeros` what is no category is an error of the run.
void convert_one_hot_encoder(NodeContext& node) {
  const std::optional<Integers> whole = node.integers("cats_int64s");
  Labels categories{std::nullopt, node.words("cats_strings")};
  if (whole) categories.numbers = list_of(DType::i64, *whole);
  const auto count = static_cast<std::int64_t>(categories.count());
  if (count == 0) node.fail("it needs cats_int64s or cats_strings, which name the categories");
  TensorExpr places = [&] {
    if (node.texts(0) != nullptr || !whole) return places_of(node, categories);
    const TensorExpr given = cast(input_expr(node, 0), DType::i64);
    const TensorExpr is_it = equal(unsqueeze(given, given.rank()), integers(node, {count}, *whole));
    const Dim extent = node.dims().constant(count);
    return reduce("reduce_min", where(is_it, range(node, extent), size(node, extent)),
                  {given.rank()}, false);
  }();
  if (node.integer("zeros", 1) == 0) places = checked_indices(places, node.dims().constant(count));
  const TensorExpr each = range(node, node.dims().constant(count));
  node.give(cast(equal(unsqueeze(places, places.rank()), each), DType::f32).id());
}

/// A sequence of maps is given as the tensor that the maps are made of.
void convert_zip_map(NodeContext& node) {
  const TextVector texts = node.words("classlabels_strings");
  const Integers numbers = node.integers("classlabels_int64s").value_or(Integers());
  TextVector labels = texts;
  for (const std::int64_t number : numbers) labels.push_back(std::to_string(number));
  node.warn(fmt::format("{} is given as a tensor, not as a sequence of maps; of its columns {}",
                        node.node().output(0), listed(labels)));
  node.give(node.operand(0));
}

void refuse_map(NodeContext& node) {
  node.fail_unsupported("its input is a map, of which dyn has none; give the model its tensor");
}

}  // namespace

Family label_operators() {
  return {{"LabelEncoder", convert_label_encoder},
          {"CategoryMapper", convert_category_mapper},
          {"OneHotEncoder", convert_one_hot_encoder},
          {"ZipMap", convert_zip_map},
          {"CastMap", refuse_map},
          {"DictVectorizer", refuse_map}};
}

}  // namespace dyn::onnx
