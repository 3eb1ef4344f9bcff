// Operators of several steps on f16 and bf16: they compute in f32 and round once.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "tests/support/half.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::OnnxFile;
using testing::Values;

namespace {

constexpr int narrow = onnx::TensorProto::UNDEFINED;  ///< the 16-bit float of the test

struct Given {
  std::string name;
  Shape dims;
  int data_type = narrow;
};

struct HalfOperator {
  std::string name;
  std::vector<Given> inputs;
  std::vector<int> outputs = {narrow};
  std::function<void(OnnxFile&, onnx::NodeProto&)> complete = {};  ///< attributes, constants
  std::string domain = {};
};

std::vector<HalfOperator> operators() {
  const Given image{"x", {2, 3, 5, 4}};
  const auto same = [](const char* attribute, const char* word) {
    return [=](OnnxFile&, onnx::NodeProto& node) { testing::set_word(node, attribute, word); };
  };
  const int f32 = onnx::TensorProto::FLOAT, i8 = onnx::TensorProto::INT8;
  const char* own = "com.microsoft";
  return {
      {"Resize",
       {image},
       {narrow},
       [](OnnxFile& file, onnx::NodeProto& node) {
         file.floats("scales", {4}, {1, 1, 2, 1.5F});
         node.add_input("");
         node.add_input("scales");
         testing::set_word(node, "mode", "cubic");
       }},
      {"LayerNormalization",
       {image, {"scale", {5, 4}}, {"bias", {5, 4}}},
       {narrow, f32, f32},
       [](OnnxFile&, onnx::NodeProto& node) { testing::set(node, "axis", 2); }},
      {"BatchNormalization",
       {image, {"scale", {3}}, {"bias", {3}}, {"mean", {3}, f32}, {"variance", {3}, f32}}},
      {"InstanceNormalization", {image, {"scale", {3}}, {"bias", {3}}}},
      {"LogSoftmax", {image}},
      {"ReduceL2", {image}},
      {"ReduceLogSumExp", {image}},
      {"LRN",
       {image},
       {narrow},
       [](OnnxFile&, onnx::NodeProto& node) { testing::set(node, "size", 3); }},
      {"GridSample",
       {image, {"grid", {2, 3, 3, 2}, f32}},
       {narrow},
       same("padding_mode", "border")},
      {"Elu", {image}},
      {"Mish", {image}},
      {"HardSwish", {image}},
      {"DequantizeLinear", {{"x", {2, 3, 5}, onnx::TensorProto::INT8}, {"scale", {}}}},
      {"QuantizeLinear", {{"x", {2, 3, 5}}, {"scale", {}}}, {onnx::TensorProto::UINT8}},
      {"Einsum", {{"a", {2, 5, 4}}, {"b", {4, 3}}}, {narrow}, same("equation", "bij,jk->bik")},
      {"GRU",
       {{"x", {5, 2, 4}}, {"w", {1, 9, 4}}, {"r", {1, 9, 3}}},
       {narrow, narrow},
       [](OnnxFile&, onnx::NodeProto& node) { testing::set(node, "hidden_size", 3); }},
      {"SimplifiedLayerNormalization", {image, {"scale", {4}}}, {narrow, f32}},
      {"QuickGelu", {image}, {narrow}, {}, own},
      {"SkipLayerNormalization",
       {{"x", {2, 5, 4}}, {"skip", {5, 4}}, {"scale", {4}}},
       {narrow},
       {},
       own},
      {"MatMulIntegerToFloat",
       {{"x", {5, 4}, i8}, {"b", {4, 3}, i8}, {"a_scale", {}}, {"b_scale", {3}}},
       {narrow},
       {},
       own},
  };
}

Values in_dtype(DType dtype, const Values& values) {
  Values rounded;
  for (const double value : values)
    rounded.push_back(testing::half_value(dtype, testing::half_bits(dtype, value)));
  return rounded;
}

/// The operator's outputs, where all inputs of the test's dtype have `data_type` instead.
std::vector<testing::Result> results_of(const HalfOperator& test, int data_type,
                                        const NamedTensors& inputs) {
  OnnxFile file;
  onnx::NodeProto node;
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    const Given& given = test.inputs[i];
    file.input(given.name, {}, given.data_type == narrow ? data_type : given.data_type);
    auto& shape = *file.model.mutable_graph()
                       ->mutable_input(static_cast<int>(i))
                       ->mutable_type()
                       ->mutable_tensor_type()
                       ->mutable_shape();
    for (const std::int64_t dim : given.dims) shape.add_dim()->set_dim_value(dim);
    node.add_input(given.name);
  }
  for (std::size_t i = 0; i < test.outputs.size(); ++i) {
    file.output("y" + std::to_string(i));
    node.add_output("y" + std::to_string(i));
  }
  node.set_op_type(test.name);
  node.set_domain(test.domain);
  if (test.complete) test.complete(file, node);
  *file.model.mutable_graph()->add_node() = node;
  return testing::run_all(file, inputs);
}

}  // namespace

TEST_CASE("imported operators of several steps round 16-bit floats once") {
  for (const auto& [data_type, dtype] : {std::pair{onnx::TensorProto::FLOAT16, DType::f16},
                                         std::pair{onnx::TensorProto::BFLOAT16, DType::bf16}}) {
    for (const HalfOperator& test : operators()) {
      CAPTURE(name_of(dtype));
      CAPTURE(test.name);
      NamedTensors narrow_inputs, wide_inputs;
      for (const Given& given : test.inputs) {
        const bool is_integer = given.data_type == onnx::TensorProto::INT8;
        Tensor half(dtype, given.dims), wide(is_integer ? DType::i8 : DType::f32, given.dims);
        std::vector<float> numbers =
            testing::random_floats(static_cast<std::size_t>(wide.size()), 0.125F, 3);
        // The sums before a gate are rounded too. Where they are large, a curve of slope 1 passes
        // on a visible error.
        if (test.name == "GRU")
          std::ranges::transform(numbers, numbers.begin(), [](float number) { return number / 4; });
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          const auto sign = i % 3 == 0 && given.name == "x" ? -1.0F : 1.0F;
          const std::uint16_t bits =
              testing::half_bits(dtype, static_cast<double>(sign * numbers[i]));
          static_cast<std::uint16_t*>(half.raw())[i] = bits;
          if (is_integer)
            static_cast<std::int8_t*>(wide.raw())[i] =
                static_cast<std::int8_t>(sign * 40 * numbers[i]);
          else
            static_cast<float*>(wide.raw())[i] =
                static_cast<float>(testing::half_value(dtype, bits));
        }
        wide_inputs.emplace_back(given.name, wide);
        narrow_inputs.emplace_back(given.name, given.data_type == narrow ? half : wide);
      }
      const auto expected = results_of(test, onnx::TensorProto::FLOAT, wide_inputs),
                 actual = results_of(test, data_type, narrow_inputs);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i);
        CHECK(actual[i].shape == expected[i].shape);
        // Where products are added up before, f32 may have rounded the sums in another order.
        const bool exact = test.name != "Einsum" && test.name != "GRU";
        const Values wanted =
            test.outputs[i] == narrow ? in_dtype(dtype, expected[i].values) : expected[i].values;
        if (exact)
          CHECK(actual[i].values == wanted);
        else
          testing::check_close(actual[i].values, wanted, dtype == DType::f16 ? 0x1p-9 : 0x1p-6);
      }
    }
  }
}
