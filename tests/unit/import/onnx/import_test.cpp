// The text that an ONNX file becomes, and the errors for broken files.

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "src/import/onnx/import.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using onnx::TensorProto;
using testing::check_error;
using testing::check_strict_error;
using testing::Folder;
using testing::one_node;
using testing::OnnxFile;
using testing::statements_of;

TEST_CASE("shape arithmetic becomes dims, and is no part of the graph") {
  OnnxFile file;
  file.input("x", {"batch", "length", 6}).output("y");
  file.integers("zero", {}, {0})
      .integers("axis", {1}, {0})
      .integers("rest", {2}, {-1, 3})
      .integers("two", {}, {2});
  file.node("Shape", {"x"}, {"shape"});
  file.node("Gather", {"shape", "zero"}, {"b"});
  file.node("Mul", {"b", "two"}, {"bb"});
  file.node("Unsqueeze", {"bb", "axis"}, {"bb1"});
  file.node("Concat", {"bb1", "rest"}, {"target"}).set_name("c");
  testing::set(*file.model.mutable_graph()->mutable_node(4), "axis", 0);
  file.node("Reshape", {"x", "target"}, {"y"});
  CHECK(statements_of(file) == "  y = reshape(x) shape=[batch * 2, -1, 3]\n  return y\n");
}

TEST_CASE("comparisons of sizes are decided where they can be, and chosen from") {
  OnnxFile file;
  file.input("x", {"N", 1}).output("y");
  file.integers("given", {2}, {-1, 5})
      .integers("minus", {2}, {-1, -1})
      .integers("ones", {2}, {1, 1});
  file.node("Equal", {"given", "minus"}, {"open"});
  file.node("Where", {"open", "ones", "given"}, {"target"});
  file.node("Expand", {"x", "target"}, {"y"});
  CHECK(statements_of(file) == "  y = expand(x) shape=[N, 5]\n  return y\n");
}

TEST_CASE("slices count from the end, are clamped, and go backwards") {
  OnnxFile file;
  file.input("x", {"N", 7}).output("y").output("z");
  file.integers("s", {1}, {-3})
      .integers("e", {1}, {9223372036854775807})
      .integers("a", {1}, {1})
      .integers("back", {1}, {-2});
  file.integers("last", {1}, {-1}).integers("before", {1}, {-9223372036854775807});
  file.node("Slice", {"x", "s", "e", "a"}, {"y"});
  file.node("Slice", {"x", "last", "before", "a", "back"}, {"z"});
  CHECK(
      statements_of(file) ==
      "  y = slice(x) axes=[1] starts=[4] ends=[7] steps=[1]\n  z = slice(x) axes=[1] steps=[-1]\n"
      "  z_2 = slice(z) axes=[1] starts=[0] ends=[7] steps=[2]\n  return y, z_2\n");
}

TEST_CASE("negated constants and integers that become floats still decide shapes") {
  OnnxFile file;
  file.input("x", {"N", 4})
      .integers("axis", {1}, {-3})
      .integers("size", {}, {5})
      .floats("zero", {}, {0.0F})
      .floats("one", {}, {1.5F})
      .output("ones")
      .output("y");
  file.node("Neg", {"axis"}, {"count"});
  onnx::NodeProto& ones = file.node("ConstantOfShape", {"count"}, {"ones"});
  onnx::AttributeProto& value = *ones.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  value.mutable_t()->add_dims(1);
  value.mutable_t()->add_float_data(2.5F);
  testing::set(file.node("Cast", {"size"}, {"limit"}), "to", onnx::TensorProto::FLOAT);
  file.node("Range", {"zero", "limit", "one"}, {"y"});
  const std::string text = statements_of(file);
  INFO(text);
  CHECK(text.find("neg") == std::string::npos);
  CHECK(text.find("cast") == std::string::npos);
  CHECK(text.find("end=4") != std::string::npos);  // 0, 1.5, 3, 4.5
}

TEST_CASE("arithmetic on weights is done once, when the model is imported") {
  constexpr std::int64_t depth = 40, columns = 24;
  const std::vector<float> scales = testing::random_floats(columns, 1, 2);
  OnnxFile file;
  file.input("x", {"N", depth}).floats("scale", {columns}, scales);
  file.floats("zero", {1}, {3}).output("y");
  onnx::TensorProto& whole = *file.model.mutable_graph()->add_initializer();
  whole.set_name("w");
  whole.set_data_type(onnx::TensorProto::INT8);
  whole.add_dims(depth);
  whole.add_dims(columns);
  std::vector<double> w;
  for (std::int64_t i = 0; i < depth * columns; ++i) {
    whole.add_int32_data(static_cast<std::int32_t>(i * 7 % 255) - 127);
    w.push_back(static_cast<double>(i * 7 % 255) - 127);
  }
  testing::set(file.node("Cast", {"w"}, {"wide"}), "to", onnx::TensorProto::FLOAT);
  file.node("Sub", {"wide", "zero"}, {"centred"});
  file.node("Mul", {"centred", "scale"}, {"weights"});
  file.node("MatMul", {"x", "weights"}, {"y"});
  const std::string text = statements_of(file);
  INFO(text);
  for (const char* op : {"cast", "sub", " mul(", " * "}) CHECK(text.find(op) == std::string::npos);
  std::vector<float> x = testing::random_floats(2 * depth);
  testing::Values expected;
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t n = 0; n < columns; ++n) {
      double sum = 0;
      for (std::size_t k = 0; k < depth; ++k)
        sum += static_cast<double>(x[row * depth + k]) * (w[k * columns + n] - 3) *
               static_cast<double>(scales[n]);
      expected.push_back(sum);
    }
  }
  testing::check_close(testing::run(file, {{"x", {&x, {2, depth}}}}).values, expected, 1e-4);
}

TEST_CASE("parts of weights, put side by side, are one weight") {
  const auto number = [](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(testing::generator());
  };
  for (int round = 0; round < 20; ++round) {
    const Shape dims{number(1, 4), number(1, 5), number(1, 6)};
    std::vector<float> w = testing::random_floats(static_cast<std::size_t>(element_count(dims)));
    const std::int64_t axis = number(0, 2), begin = number(-7, 6), end = number(-7, 9);
    const std::int64_t step = number(1, 3), along = number(-3, 2);
    CAPTURE(axis);
    CAPTURE(begin);
    CAPTURE(end);
    CAPTURE(step);
    CAPTURE(along);
    // The weight is a constant, and then an input.
    const auto made = [&](bool constant) {
      OnnxFile file;
      file.input("x", {"N"}).output("y");
      if (constant)
        file.floats("w", dims, w);
      else
        file.input(
            "w", {static_cast<int>(dims[0]), static_cast<int>(dims[1]), static_cast<int>(dims[2])});
      file.integers("begin", {1}, {begin}).integers("end", {1}, {end});
      file.integers("axis", {1}, {axis}).integers("step", {1}, {step}).integers("flat", {1}, {-1});
      file.node("Slice", {"w", "begin", "end", "axis", "step"}, {"part"});
      // Parts of other lengths fit together along that axis alone.
      testing::set(file.node("Concat", {"part", "w", "part"}, {"all"}), "axis", axis);
      testing::set(file.node("Concat", {"all", "all"}, {"twice"}), "axis", along);
      file.node("Reshape", {"twice", "flat"}, {"line"});
      testing::set(file.node("Concat", {"line", "x"}, {"y"}), "axis", 0);
      return file;
    };
    std::vector<float> x = testing::random_floats(2);
    const std::string text = statements_of(made(true));
    INFO(text);
    CHECK(text.find("slice") == std::string::npos);
    CHECK(text.find("concat") == text.rfind("concat"));
    const testing::Result folded = testing::run(made(true), {{"x", {&x, {2}}}});
    const testing::Result computed =
        testing::run(made(false), {{"x", {&x, {2}}}, {"w", {&w, dims}}});
    CHECK(folded.shape == computed.shape);
    CHECK(folded.values == computed.values);
  }
}

TEST_CASE("weights of another kind or shape are not put side by side") {
  OnnxFile file;
  file.input("x", {"N", 2}).output("y").floats("a", {1, 2}, {1, 2}).floats("b", {1, 3}, {1, 2, 3});
  testing::set(file.node("Concat", {"a", "b"}, {"ab"}), "axis", 0);
  testing::set(file.node("Concat", {"ab", "x"}, {"y"}), "axis", 0);
  check_error(file, ErrorKind::model, {"Concat"});
}

TEST_CASE("dims without a name are free, and named ones are the same everywhere") {
  OnnxFile file;
  file.input("x", {"", "my dim"}).input("w", {"my dim", ""}).output("y");
  file.node("MatMul", {"x", "w"}, {"y"});
  const Folder folder;
  file.save(folder.path("m.onnx"));
  const onnx::Imported imported = onnx::import_model(folder.path("m.onnx"), "w.safetensors");
  CHECK(imported.weights.empty());
  INFO(imported.text);
  CHECK(imported.text.find("graph net(x: f32[_, my_dim], w: f32[my_dim, _]) -> (y: f32[_, _]) {") !=
        std::string::npos);
}

TEST_CASE("dims are named as the text can name them") {
  OnnxFile file;
  file.input("x", {"min", "_0", "9", ""}).output("y");
  file.node("Transpose", {"x"}, {"t"});
  file.node("Flatten", {"t"}, {"y"});
  CHECK(statements_of(file).find("d_min") != std::string::npos);
}

TEST_CASE("a broken file is refused with its name and the place") {
  OnnxFile file = one_node("Relu");
  file.floats("w", {100}, std::vector<float>(100));
  const auto cut = [](const std::string& path) { std::filesystem::resize_file(path, 150); };
  check_error(file, ErrorKind::model, {"not a whole ONNX model"}, cut);
  const auto overwrite = [](const std::string& path) {
    std::ofstream(path) << "this is text, not protobuf";
  };
  check_error(file, ErrorKind::model, {"not a whole ONNX model"}, overwrite);
  const auto empty = [](const std::string& path) { std::filesystem::resize_file(path, 0); };
  check_error(file, ErrorKind::model, {"m.onnx: not an ONNX model. It is empty"}, empty);
  const auto header_alone = [](const std::string& path) { std::filesystem::resize_file(path, 2); };
  check_error(file, ErrorKind::model, {"it has no graph"}, header_alone);
  const auto zip = [](const std::string& path) { std::ofstream(path) << "PK\3\4 m.onnx"; };
  check_error(file, ErrorKind::model, {"m.onnx: not an ONNX model. It is a zip archive"}, zip);
  const auto remove = [](const std::string& path) { std::filesystem::remove(path); };
  check_error(file, ErrorKind::device, {"cannot read", "No such file"}, remove);
  const auto become_folder = [](const std::string& path) {
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
  };
  check_error(file, ErrorKind::device, {"cannot read", "Is a directory"}, become_folder);
  const auto become_pipe = [](const std::string& path) {
    std::filesystem::remove(path);
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  };
  check_error(file, ErrorKind::device, {"cannot read", "not a regular file"}, become_pipe);
}

TEST_CASE("a model from the future is tried, with a warning, and one of no version refused") {
  const dyn::testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "m.onnx").string();
  one_node("Relu", onnx::last_opset + 1).save(path);
  std::vector<std::string> warnings;
  Options options;
  options.log = [&](LogLevel level, std::string_view line) {
    if (level == LogLevel::warning) warnings.emplace_back(line);
  };
  Graph::load(path, options);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("opset 29 is newer than 28") != std::string::npos);
  warnings.clear();
  one_node("Relu", onnx::last_opset).save(path);
  Graph::load(path, options);
  CHECK(warnings.empty());
  check_error(one_node("ReluOfTomorrow", 29), ErrorKind::unsupported, {"ReluOfTomorrow"});
  check_error(one_node("Relu", 0), ErrorKind::unsupported, {"opset 0"});
  OnnxFile none = one_node("Relu");
  none.model.clear_opset_import();
  check_error(none, ErrorKind::model, {"no version of the standard operators"});
}

TEST_CASE("operators that are not supported are named all at once, with counts and first nodes") {
  OnnxFile file;
  file.input("x", {"N"}).output("c");
  file.node("Frobnicate", {"x"}, {"a"}).set_name("first");
  file.node("Frobnicate", {"a"}, {"b"});
  file.node("Relu", {"b"}, {"r"});
  file.node("Fused", {"r"}, {"c"}).set_domain("com.example");
  check_error(file, ErrorKind::unsupported,
              {"2 operator(s)", "Frobnicate: 2 node(s), the first is Frobnicate \"first\"",
               "com.example.Fused: 1 node(s)"});
}

TEST_CASE("tensors whose bytes do not fit their dims are refused by name") {
  OnnxFile few = one_node("Relu");
  few.floats("w", {3, 5}, std::vector<float>(14));
  check_strict_error(few, ErrorKind::model, {"the tensor w", "56 bytes", "need 60"});
  OnnxFile negative = one_node("Relu");
  negative.floats("w", {-1}, {});
  check_strict_error(negative, ErrorKind::model, {"the tensor w", "a dim is -1"});
  OnnxFile huge = one_node("Relu");
  huge.floats("w", {std::int64_t{1} << 40, std::int64_t{1} << 40}, {});
  check_strict_error(huge, ErrorKind::model, {"the tensor w", "beyond 64 bits"});
  OnnxFile unknown = one_node("Relu");
  unknown.floats("w", {}, {1});
  unknown.model.mutable_graph()->mutable_initializer(0)->set_data_type(TensorProto::COMPLEX64);
  check_strict_error(unknown, ErrorKind::unsupported, {"COMPLEX64", "the tensor w"});
}

TEST_CASE("data in another file is read from below the model's folder, and from nowhere else") {
  const auto external = [](const std::string& location, const std::string& offset) {
    OnnxFile file;
    file.input("x", {"N", 2}).output("y");
    file.node("Add", {"x", "w"}, {"y"});
    TensorProto& tensor = *file.model.mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_dims(2);
    tensor.set_data_location(TensorProto::EXTERNAL);
    for (const auto& [key, value] :
         {std::pair<std::string, std::string>{"location", location}, {"offset", offset}}) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return file;
  };
  const Folder folder;
  std::filesystem::create_directory(folder.folder.path() / "data");
  const float elements[]{0, 1.5F, -2.5F};
  std::ofstream(folder.path("data/w.bin"), std::ios::binary)
      .write(reinterpret_cast<const char*>(elements), sizeof elements);
  external("data/w.bin", "4").save(folder.path("m.onnx"));
  onnx::Imported imported = onnx::import_model(folder.path("m.onnx"), "w.safetensors");
  CHECK(imported.weights.take_file().ends_with(
      std::string(reinterpret_cast<const char*>(elements + 1), 8)));
  const auto refused = [&](const std::string& location, const std::string& offset,
                           const std::string& part) {
    external(location, offset).save(folder.path("m.onnx"));
    CHECK_THROWS_WITH(onnx::import_model(folder.path("m.onnx"), ""),
                      doctest::Contains(part.c_str()));
  };
  refused("data/w.bin", "8", "needs 8 bytes; the file has 12");
  refused("data/w.bin", "x", "no number of bytes");
  refused("missing.bin", "0", "cannot be read");
  refused("../w.bin", "0", "not below the model's folder");
  refused("/etc/passwd", "0", "not below the model's folder");
  std::filesystem::create_symlink("/etc/passwd", folder.folder.path() / "link.bin");
  refused("link.bin", "0", "not below the model's folder");
}

TEST_CASE(
    "names that nothing defines, that are defined later, or twice, are refused with the node") {
  OnnxFile undefined = one_node("Relu");
  undefined.model.mutable_graph()->mutable_node(0)->set_input(0, "nowhere");
  check_error(undefined, ErrorKind::model,
              {"Relu \"Relu1\"", "\"nowhere\" is defined nowhere before it"});
  OnnxFile cycle;
  cycle.input("x", {"N"}).output("a");
  cycle.node("Relu", {"b"}, {"a"});
  cycle.node("Relu", {"a"}, {"b"});
  check_error(cycle, ErrorKind::model, {"\"b\" is defined nowhere before it"});
  OnnxFile twice = one_node("Relu");
  twice.node("Abs", {"x"}, {"y"});
  check_strict_error(twice, ErrorKind::model, {"Abs \"Abs2\"", "\"y\" is defined twice"});
  OnnxFile output = one_node("Relu");
  output.output("z");
  check_error(output, ErrorKind::model, {"the output z"});
}

TEST_CASE("shapes that do not fit are refused with the node") {
  OnnxFile file;
  file.input("x", {"N", 4}).floats("w", {5, 3}, std::vector<float>(15)).output("y");
  file.node("MatMul", {"x", "w"}, {"y"});
  check_error(file, ErrorKind::model, {"MatMul \"MatMul1\"", "4", "5"});
  OnnxFile data;
  data.input("x", {"N", 4})
      .input("shapes", {"K", 2}, TensorProto::INT64)
      .integers("first", {}, {0})
      .output("y");
  data.node("Gather", {"shapes", "first"}, {"shape"});
  data.node("ReduceSum", {"x", "shape"}, {"y"});
  check_error(data, ErrorKind::unsupported, {"ReduceSum \"ReduceSum2\"", "depends on data"});
}

TEST_CASE("subgraphs nested a thousand deep are refused") {
  OnnxFile file = one_node("Relu");
  onnx::GraphProto* graph = file.model.mutable_graph();
  for (int depth = 0; depth < 1000; ++depth) {
    onnx::AttributeProto* attribute = graph->add_node()->add_attribute();
    attribute->set_name("body");
    graph = attribute->mutable_g();
  }
  check_error(file, ErrorKind::model, {"nested deeper than 100"});
}
