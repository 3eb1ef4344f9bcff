// Imported operators on features and labels of ai.onnx.ml, beside plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "dyn/texts.hpp"

#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/ops/ml/ml_file.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::ml_labels {
namespace {

constexpr std::int64_t rows = 4, columns = 3;
const double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
Result run_on(const OnnxFile& file, const Values& x, const Shape& shape = {rows, columns}) {
  const std::vector<T> data(x.begin(), x.end());
  return run_all(file, {{"x", Tensor::view(data, shape)}}).front();
}

Values drawn() {
  const std::vector<float> floats = random_floats(rows * columns);
  return {floats.begin(), floats.end()};
}

Values each_of(const Values& x, const std::function<double(double, std::size_t)>& function) {
  Values y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(function(x[i], i % columns));
  return y;
}

/// A classifier of two texts, whose labels another node of the domain reads.
OnnxFile texts_into(const std::string& op, const std::function<void(onnx::NodeProto&)>& describe) {
  MlFile ml("LinearClassifier", {"N", columns}, {"label", "scores"});
  set_floats(set_floats(ml.node(), "coefficients", {1, 0, 0}), "intercepts", {0});
  set_words(ml.node(), "classlabels_strings", {"no", "yes"});
  ml.file.model.mutable_graph()->clear_output();
  ml.file.output("y");
  onnx::NodeProto& node = ml.file.node(op, {"label"}, {"y"});
  node.set_domain("ai.onnx.ml");
  describe(node);
  return ml.file;
}

const Values signs{-1, 0, 0, 2, 0, 0, 3, 0, 0, -4, 0, 0};  // no, yes, yes, no

}  // namespace

TEST_CASE("Scaler, Binarizer and Imputer change each feature") {
  const Values x = drawn();
  for (const bool many : {true, false}) {
    const Values offset = many ? Values{0.5, -1, 2} : Values{0.25},
                 scale = many ? Values{2, 0.5, -1} : Values{4};
    MlFile scaler("Scaler", {"N", columns}, {"y"});
    set_floats(set_floats(scaler.node(), "offset", offset), "scale", scale);
    check_close(run_on<float>(scaler.file, x).values, each_of(x, [&](double each, std::size_t k) {
                  return (each - offset[many ? k : 0]) * scale[many ? k : 0];
                }));
    MlFile imputer("Imputer", {"N", columns}, {"y"});
    set_number(set_floats(imputer.node(), "imputed_value_floats", offset), "replaced_value_float",
               std::nanf(""));
    Values missing = x;
    missing[1] = missing[5] = missing[6] = nan;
    check_close(run_on<float>(imputer.file, missing).values,
                each_of(missing, [&](double each, std::size_t k) {
                  return std::isnan(each) ? offset[many ? k : 0] : each;
                }));
  }
  MlFile whole("Imputer", {"N", columns}, {"y"}, onnx::TensorProto::INT64);
  set(set_list(whole.node(), "imputed_value_int64s", {7, 8, 9}), "replaced_value_int64", -1);
  CHECK(run_on<std::int64_t>(whole.file, {-1, 2, -1, 3, -1, 4, 0, 0, 0, 1, 1, 1}).values ==
        Values{7, 2, 9, 3, 8, 4, 0, 0, 0, 1, 1, 1});
  MlFile binarizer("Binarizer", {"N", columns}, {"y"});
  set_number(binarizer.node(), "threshold", 0.5F);
  check_close(run_on<float>(binarizer.file, x).values,
              each_of(x, [](double each, std::size_t) { return each > 0.5 ? 1 : 0; }));
}

TEST_CASE("Normalizer divides a row by its norm, unless that is 0") {
  Values x = drawn();
  std::fill_n(x.begin() + columns, columns, 0.0);
  for (const std::string norm : {"MAX", "L1", "L2"}) {
    CAPTURE(norm);
    MlFile ml("Normalizer", {"N", columns}, {"y"});
    set_word(ml.node(), "norm", norm);
    Values expected;
    for (std::size_t row = 0; row < rows; ++row) {
      const double* first = x.data() + row * columns;
      double length = norm == "MAX" ? *std::max_element(first, first + columns) : 0;
      for (std::size_t k = 0; norm != "MAX" && k < columns; ++k)
        length += norm == "L1" ? std::abs(first[k]) : first[k] * first[k];
      if (norm == "L2") length = std::sqrt(length);
      for (std::size_t k = 0; k < columns; ++k)
        expected.push_back(length == 0 ? first[k] : first[k] / length);
    }
    check_close(run_on<float>(ml.file, x).values, expected);
  }
}

TEST_CASE("FeatureVectorizer cuts and fills, ArrayFeatureExtractor chooses columns") {
  const Values x = drawn();
  MlFile vectorizer("FeatureVectorizer", {"N", columns}, {"y"});
  vectorizer.node().add_input("x");
  set_list(vectorizer.node(), "inputdimensions", {2, 5});
  Values expected;
  for (std::size_t row = 0; row < rows; ++row) {
    const double* first = x.data() + row * columns;
    expected.insert(expected.end(), {first[0], first[1], first[0], first[1], first[2], 0, 0});
  }
  check_close(run_on<float>(vectorizer.file, x).values, expected);
  MlFile extractor("ArrayFeatureExtractor", {"N", columns}, {"y"});
  extractor.node().add_input("places");
  extractor.file.integers("places", {1, 2}, {2, 0});
  expected.clear();
  for (std::size_t row = 0; row < rows; ++row)
    expected.insert(expected.end(), {x[row * columns + 2], x[row * columns]});
  check_close(run_on<float>(extractor.file, x).values, expected);
}

TEST_CASE("LabelEncoder and OneHotEncoder find keys among numbers") {
  const Values x{5, 7, 1, 9, 5, -2, 7, 7, 3, 1, 0, 5};
  MlFile whole("LabelEncoder", {"N", columns}, {"y"}, onnx::TensorProto::INT64);
  set_list(whole.node(), "keys_int64s", {5, 7, 1, 7});
  set_floats(whole.node(), "values_floats", {0.5, 1.5, 2.5, 9});
  set_number(whole.node(), "default_float", -3);
  const auto value_of = [](double each, std::size_t) {
    return each == 5 ? 0.5 : each == 7 ? 1.5 : each == 1 ? 2.5 : -3;
  };
  check_close(run_on<std::int64_t>(whole.file, x).values, each_of(x, value_of));
  MlFile with_nan("LabelEncoder", {"N", columns}, {"y"});
  set_floats(with_nan.node(), "keys_floats", {0.5, nan});
  set_list(with_nan.node(), "values_int64s", {11, 12});
  CHECK(run_on<float>(with_nan.file, {0.5, nan, 1, 0.5, 0.5, 0.5, nan, 2, 3, 4, 5, 6}).values ==
        Values{11, 12, -1, 11, 11, 11, 12, -1, -1, -1, -1, -1});
  MlFile one_hot("OneHotEncoder", {"N", columns}, {"y"}, onnx::TensorProto::INT64);
  set_list(one_hot.node(), "cats_int64s", {7, 5});
  const Result ones = run_on<std::int64_t>(one_hot.file, x);
  CHECK(ones.shape == Shape{rows, columns, 2});
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(ones.values[2 * i] == (x[i] == 7 ? 1 : 0));
    CHECK(ones.values[2 * i + 1] == (x[i] == 5 ? 1 : 0));
  }
  set(one_hot.node(), "zeros", 0);
  CHECK_THROWS_AS(run_on<std::int64_t>(one_hot.file, x), Error);
  CHECK_NOTHROW(run_on<std::int64_t>(one_hot.file, {5, 7, 5, 7, 5, 5, 5, 7, 7, 7, 7, 7}));
}

TEST_CASE("texts that a classifier gives are keys of what follows") {
  const Values codes =
      run_on<float>(texts_into("LabelEncoder",
                               [](auto& node) {
                                 set_list(set_words(node, "keys_strings", {"yes", "maybe"}),
                                          "values_int64s", {30, 31});
                               }),
                    signs)
          .values;
  CHECK(codes == Values{-1, 30, 30, -1});
  CHECK(run_on<float>(texts_into("CategoryMapper",
                                 [](auto& node) {
                                   set_list(set_words(node, "cats_strings", {"no", "yes"}),
                                            "cats_int64s", {4, 9});
                                 }),
                      signs)
            .values == Values{4, 9, 9, 4});
  CHECK(
      run_on<float>(texts_into("OneHotEncoder",
                               [](auto& node) { set_words(node, "cats_strings", {"yes", "no"}); }),
                    signs)
          .values == Values{0, 1, 1, 0, 1, 0, 0, 1});
  check_error(texts_into("Binarizer", [](auto&) {}), ErrorKind::unsupported,
              {"label holds texts, of which dyn has no tensors"});
  check_error(texts_into("LabelEncoder",
                         [](auto& node) {
                           set_list(set_list(node, "keys_int64s", {1}), "values_int64s", {2});
                         }),
              ErrorKind::model, {"its input holds texts, but its keys are numbers"});
}

TEST_CASE("numbers become texts, which the output's port names") {
  MlFile ml("LabelEncoder", {"N", columns}, {"y"}, onnx::TensorProto::INT64);
  set_words(set_list(ml.node(), "keys_int64s", {5, 7}), "values_strings", {"five", "seven"});
  Logged logged;
  logged.options.strict = true;
  const std::vector<std::int64_t> x{5, 7, 0};
  const Graph graph = load(ml.file, logged.options);
  const Outputs outputs = graph.run({{"x", Tensor::view(x, {1, columns})}});
  const auto y = outputs["y"].data<std::int64_t>();
  CHECK(std::vector<std::int64_t>(y.begin(), y.end()) == std::vector<std::int64_t>{0, 1, 2});
  CHECK(TextCoder(graph).decode("y", outputs["y"]) ==
        std::vector<std::string>{"five", "seven", "_Unused"});
  CHECK(logged.warnings.empty());
}

TEST_CASE("texts in the file are chosen and moved by their places") {
  OnnxFile file;
  file.model.add_opset_import()->set_domain("ai.onnx.ml");
  file.input("x", {"N", columns}).output("y");
  file.integers("shape", {1}, {-1});
  onnx::TensorProto& names = *file.model.mutable_graph()->add_initializer();
  names.set_name("names");
  names.set_data_type(onnx::TensorProto::STRING);
  names.add_dims(3);
  for (const char* name : {"cat", "dog", "eel"}) names.add_string_data(name);
  set(file.node("ArgMax", {"x"}, {"best"}), "axis", 1);
  file.node("ArrayFeatureExtractor", {"names", "best"}, {"chosen"}).set_domain("ai.onnx.ml");
  set(file.node("Cast", {"chosen"}, {"cast"}), "to", onnx::TensorProto::STRING);
  file.node("Reshape", {"cast", "shape"}, {"y"});
  const Values x{1, 2, 3, 9, 8, 7, 1, 3, 2, 1, 1, 1};
  CHECK(run_on<float>(file, x).values == Values{2, 0, 1, 0});
  names.add_dims(2);
  check_error(file, ErrorKind::model,
              {"the tensor names: it has 3 texts, which do not fit its dims"});
  names.mutable_dims()->RemoveLast();
  file.node("NonZero", {"names"}, {"z"});
  file.output("z");
  check_error(file, ErrorKind::unsupported, {"names holds texts, of which dyn has no tensors"});
}

TEST_CASE("a ZipMap gives the tensor of its maps, and the log names the columns") {
  MlFile ml("ZipMap", {"N", columns}, {"y"});
  set_words(ml.node(), "classlabels_strings", {"a", "b", "c"});
  Logged logged;
  const std::vector<float> x{0.25F, 0.5F, 0.25F};
  const Outputs outputs = load(ml.file, logged.options).run({{"x", Tensor::view(x, {1, columns})}});
  CHECK(outputs["y"].data<float>()[1] == 0.5F);
  REQUIRE(logged.warnings.size() == 1);
  CHECK(logged.warnings[0].find("0 is \"a\", 1 is \"b\", 2 is \"c\"") != std::string::npos);
}

TEST_CASE("broken operators on features and labels are refused") {
  const auto refuses = [](const std::string& op, const std::function<void(onnx::NodeProto&)>& edit,
                          const std::string& message, ErrorKind kind = ErrorKind::model) {
    MlFile ml(op, {"N", columns}, {"y"});
    edit(ml.node());
    check_error(ml.file, kind, {message});
  };
  refuses(
      "Scaler", [](auto& node) { set_floats(node, "offset", {1, 2}); },
      "offset has 2 elements; it needs 1, or as many as features, which are 3");
  refuses("Scaler", [](auto& node) { set_floats(node, "offset", {1}); }, "scale has 0 elements");
  refuses(
      "Imputer", [](auto& node) { set_floats(node, "imputed_value_floats", Values(4, 1)); },
      "imputed_value_floats has 4 elements");
  refuses("Normalizer", [](auto& node) { set_word(node, "norm", "L3"); }, "norm L3 is unknown");
  refuses(
      "FeatureVectorizer", [](auto& node) { set_list(node, "inputdimensions", {1, 2}); },
      "inputdimensions has 2 elements, but there are 1 inputs");
  refuses(
      "FeatureVectorizer", [](auto& node) { set_list(node, "inputdimensions", {-1}); },
      "an inputdimension is -1");
  refuses(
      "LabelEncoder",
      [](auto& node) { set_floats(set_floats(node, "keys_floats", {1, 2}), "values_floats", {1}); },
      "it has 2 keys, but 1 values");
  refuses(
      "LabelEncoder",
      [](auto& node) { set_floats(set_words(node, "keys_strings", {"a"}), "values_floats", {1}); },
      "its input holds numbers, but its keys are texts");
  refuses("OneHotEncoder", [](auto&) {}, "it needs cats_int64s or cats_strings");
  for (const char* op : {"CastMap", "DictVectorizer"})
    refuses(op, [](auto&) {}, "its input is a map", ErrorKind::unsupported);
}

}  // namespace dyn::testing::ml_labels
