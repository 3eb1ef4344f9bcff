// Broken or malicious files: each is refused with the place and the problem, and takes no memory
// that the file does not fill.

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <fstream>
#include <limits>

#include "src/import/onnx/import.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using onnx::TensorProto;
using testing::check_error;
using testing::check_strict_error;
using testing::Folder;
using testing::one_node;
using testing::OnnxFile;

namespace {

constexpr std::int64_t large = std::int64_t{1} << 40;
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

OnnxFile two_layers() {
  OnnxFile file;
  file.input("x", {"N", 4})
      .floats("w", {4, 3}, std::vector<float>(12, 0.5F))
      .integers("axes", {1}, {1})
      .output("y");
  file.node("MatMul", {"x", "w"}, {"h"});
  file.call("F", {"h", "axes"}, {"y"});
  testing::node(file.function("F", {"a", "axes"}, {"b"}), "ReduceSum", {"a", "axes"}, {"b"});
  return file;
}

/// f32 y = x + w, where the file says that w's bytes are in another file.
OnnxFile external(const std::string& location, std::vector<std::int64_t> dims = {2},
                  const std::string& offset = "0", const std::string& length = "") {
  OnnxFile file;
  file.input("x", {"N", 2}).output("y");
  file.node("Add", {"x", "w"}, {"y"});
  TensorProto& tensor = *file.model.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  tensor.set_data_location(TensorProto::EXTERNAL);
  const auto add = [&](const std::string& key, const std::string& value) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", location);
  add("offset", offset);
  if (!length.empty()) add("length", length);
  return file;
}

/// Bytes as a field of this number, with any declared length.
std::string declared(int field, std::uint64_t length, const std::string& bytes) {
  std::string text(1, static_cast<char>(field << 3 | 2));
  for (; length >= 0x80; length >>= 7) text += static_cast<char>(length | 0x80);
  return text + static_cast<char>(length) + bytes;
}

long resident_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a file that is cut anywhere is refused, or is a smaller model") {
  const Folder folder;
  const std::string path = folder.path("m.onnx");
  two_layers().save(path);
  const std::string whole = read(path);
  std::size_t refused = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(path, whole.substr(0, size));
    try {
      onnx::import_model(path, "w.safetensors");
    } catch (const Error& error) {
      ++refused;
      CHECK((error.kind() == ErrorKind::model || error.kind() == ErrorKind::unsupported));
      CHECK(std::string(error.what()).find("m.onnx") != std::string::npos);
    }
  }
  CHECK(refused >= whole.size() - 1);
}

TEST_CASE("bytes that are flipped are refused, or give a model that can be read") {
  const Folder folder;
  const std::string path = folder.path("m.onnx");
  two_layers().save(path);
  const std::string whole = read(path);
  for (std::size_t i = 0; i < whole.size() * 4; ++i) {
    std::string broken = whole;
    broken[testing::generator()() % whole.size()] = static_cast<char>(testing::generator()());
    write(path, broken);
    try {
      onnx::import_model(path, "w.safetensors");
    } catch (const Error& error) {
      INFO(error.what());
      CHECK((error.kind() == ErrorKind::model || error.kind() == ErrorKind::unsupported));
    }
  }
}

TEST_CASE("lengths that a file declares and does not have take no memory") {
  constexpr int graph_field = 7, initializer_field = 5, raw_field = 9, float_field = 4;
  const Folder folder;
  const long before = resident_kilobytes();
  for (const int field : {raw_field, float_field}) {
    const std::string tensor = declared(field, (std::uint64_t{1} << 31) - 64, "few");
    write(folder.path("m.onnx"),
          declared(graph_field, (std::uint64_t{1} << 31) - 20,
                   declared(initializer_field, (std::uint64_t{1} << 31) - 40, tensor)));
    CHECK_THROWS_WITH_AS(onnx::import_model(folder.path("m.onnx"), ""),
                         doctest::Contains("not a whole ONNX model"), Error);
  }
  check_error(external("w.bin", {large, large / 8}), ErrorKind::model,
              {"the tensor w", "beyond 64 bits"});
  check_error(external("w.bin", {large}), ErrorKind::model,
              {"needs 4398046511104 bytes; the file has 8"}, [](const std::string& path) {
                write(std::filesystem::path(path).replace_filename("w.bin"), "8 bytes!");
              });
  OnnxFile raw = one_node("Relu");
  raw.floats("w", {large}, {1});
  check_strict_error(raw, ErrorKind::model, {"4 bytes, but its dims need 4398046511104"});
  constexpr long slack = 64 << 10;
  CHECK(resident_kilobytes() - before < slack);
}

TEST_CASE("external data that does not fit is refused with the tensor and the file") {
  const Folder folder;
  const std::string path = folder.path("m.onnx");
  write(folder.path("w.bin"), std::string(12, '\1'));
  std::filesystem::create_directory(folder.path("data"));
  const auto refused = [&](const OnnxFile& file, const std::string& part) {
    file.save(path);
    CHECK_THROWS_WITH_AS(onnx::import_model(path, ""), doctest::Contains(part.c_str()), Error);
    CHECK_THROWS_WITH_AS(onnx::import_model(path, ""), doctest::Contains("the tensor w"), Error);
  };
  refused(external("w.bin", {2}, "0", "4"), "it has 4 bytes in another file, but its dims need 8");
  refused(external("w.bin", {2}, "-4"), "no number of bytes");
  refused(external("w.bin", {2}, "18446744073709551615"), "at byte 18446744073709551615");
  refused(external("w.bin", {2}, "99999999999999999999"), "no number of bytes");
  refused(external("w.bin", {2}, ""), "no number of bytes");
  refused(external("data"), "cannot be read");
  refused(external("w.bin/x"), "cannot be read");
  refused(external(""), "not below the model's folder");
  refused(external("data/../../w.bin"), "not below the model's folder");
  refused(external(std::string("w.bin\0.txt", 10)), "not below the model's folder");
}

TEST_CASE("a model with more files than a process may open is read one after the other") {
  const Folder folder;
  constexpr int count = 100;
  OnnxFile file;
  file.input("x", {"N", 2}).output("sum");
  std::string last = "x";
  for (int i = 0; i < count; ++i) {
    const std::string name = "w" + std::to_string(i),
                      next = i + 1 == count ? "sum" : "sum" + std::to_string(i);
    write(folder.path(name), std::string(8, static_cast<char>(i)));
    TensorProto& tensor = *file.model.mutable_graph()->add_initializer();
    tensor = external(name).model.graph().initializer(0);
    tensor.set_name(name);
    file.node("Add", {last, name}, {next});
    last = next;
  }
  file.save(folder.path("m.onnx"));
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{64, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  std::size_t bytes = 0;
  try {
    bytes = onnx::import_model(folder.path("m.onnx"), "w").weights.size();
  } catch (const Error& error) { CHECK(std::string(error.what()).empty()); }
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(bytes > 8 * count);
}

TEST_CASE("tensors that are one place of another file are one weight") {
  const Folder folder;
  constexpr int count = 600;
  constexpr std::int64_t columns = 1 << 10;
  write(folder.path("w.bin"), std::string(4 * columns, '\1'));
  OnnxFile file;
  file.input("x", {"N", columns}).output("sum");
  std::string last = "x";
  const TensorProto first = external("w.bin", {columns}).model.graph().initializer(0);
  for (int i = 0; i < count; ++i) {
    const std::string name = "w" + std::to_string(i),
                      next = i + 1 == count ? "sum" : "sum" + std::to_string(i);
    TensorProto& tensor = *file.model.mutable_graph()->add_initializer();
    tensor = first;
    tensor.set_name(name);
    file.node("Add", {last, name}, {next});
    last = next;
  }
  file.save(folder.path("m.onnx"));
  const onnx::Imported imported = onnx::import_model(folder.path("m.onnx"), "w");
  CHECK(imported.weights.size() < 2 * 4 * columns);
}

TEST_CASE("links that lead out of the model's folder are not followed, those that stay are") {
  const Folder folder, elsewhere;
  const std::string path = folder.path("m.onnx");
  write(elsewhere.path("w.bin"), std::string(8, '\1'));
  write(folder.path("real.bin"), std::string(8, '\2'));
  std::filesystem::create_symlink(elsewhere.folder.path(), folder.path("out"));
  std::filesystem::create_symlink(elsewhere.path("w.bin"), folder.path("out.bin"));
  std::filesystem::create_symlink("out.bin", folder.path("twice.bin"));
  std::filesystem::create_symlink("real.bin", folder.path("in.bin"));
  std::filesystem::create_symlink("loop.bin", folder.path("loop.bin"));
  for (const char* location : {"out/w.bin", "out.bin", "twice.bin"}) {
    external(location).save(path);
    CHECK_THROWS_WITH_AS(onnx::import_model(path, ""),
                         doctest::Contains("not below the model's folder"), Error);
  }
  external("loop.bin").save(path);
  CHECK_THROWS_AS(onnx::import_model(path, ""), Error);
  external("in.bin").save(path);
  CHECK(onnx::import_model(path, "w").weights.take_file().ends_with(std::string(8, '\2')));
  // A model's folder may itself be a link.
  std::filesystem::create_directory_symlink(folder.folder.path(), elsewhere.path("link"));
  CHECK(onnx::import_model(elsewhere.path("link/m.onnx"), "w")
            .weights.take_file()
            .ends_with(std::string(8, '\2')));
}

TEST_CASE("external data is found beside a model that is named without a folder") {
  const Folder folder;
  write(folder.path("w.bin"), std::string(8, '\3'));
  external("w.bin").save(folder.path("m.onnx"));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.folder.path());
  std::string weights;
  try {
    weights = onnx::import_model("m.onnx", "w").weights.take_file();
  } catch (const Error& error) { weights = error.what(); }
  std::filesystem::current_path(before);
  INFO(weights);
  CHECK(weights.ends_with(std::string(8, '\3')));
}

TEST_CASE("elements that do not fit the dims are refused, in whatever field they are") {
  OnnxFile floats = one_node("Relu");
  floats.floats("w", {3}, {});
  floats.model.mutable_graph()->mutable_initializer(0)->clear_raw_data();
  floats.model.mutable_graph()->mutable_initializer(0)->add_float_data(1);
  check_strict_error(floats, ErrorKind::model,
                     {"the tensor w", "it has 1 elements, but its dims need 3"});
  OnnxFile integers = one_node("Relu");
  integers.integers("w", {2}, {1, 2, 3});
  check_strict_error(integers, ErrorKind::model,
                     {"the tensor w", "it has 3 elements, but its dims need 2"});
  OnnxFile other = one_node("Relu");
  other.integers("w", {2}, {1, 2});
  other.model.mutable_graph()->mutable_initializer(0)->set_data_type(TensorProto::FLOAT);
  check_strict_error(other, ErrorKind::model,
                     {"the tensor w", "it has 0 elements, but its dims need 2"});
  OnnxFile constant;
  constant.input("x", {"N"}).output("y");
  onnx::AttributeProto& value = *constant.node("Constant", {}, {"c"}).add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(TensorProto::FLOAT);
  value.mutable_t()->add_dims(2);
  value.mutable_t()->set_raw_data("123");
  constant.node("Add", {"x", "c"}, {"y"});
  check_error(constant, ErrorKind::model,
              {"in Constant \"Constant1\"", "3 bytes, but its dims need 8"});
}

TEST_CASE("dims of 0 are sizes, negative ones are none, and large ones do not overflow") {
  OnnxFile zero;
  zero.input("x", {"N", 3}).floats("w", {0, 3}, {}).output("y");
  testing::set(zero.node("Concat", {"x", "w"}, {"y"}), "axis", 0);
  std::vector<float> x = testing::random_floats(2 * 3);
  const testing::Result result = testing::run(zero, {{"x", {&x, {2, 3}}}});
  CHECK(result.shape == Shape{2, 3});
  testing::check_close(result.values, {x.begin(), x.end()});
  OnnxFile negative = one_node("Relu");
  negative.model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_value(-5);
  check_error(negative, ErrorKind::model, {"a dim is -5", "in the input x"});
  OnnxFile huge = one_node("Flatten");
  auto& shape = *huge.model.mutable_graph()
                     ->mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  for (int i = 0; i < 3; ++i) shape.add_dim()->set_dim_value(largest);
  check_error(huge, ErrorKind::model, {"in the input x", "beyond 63 bits"});
  OnnxFile reshaped;
  reshaped.input("x", {"N", 4}).integers("shape", {2}, {largest, 4}).output("y");
  reshaped.node("Expand", {"x", "shape"}, {"y"});
  check_error(reshaped, ErrorKind::model, {"Expand \"Expand1\""});
  OnnxFile below;
  below.input("x", {"N", 4}).integers("shape", {2}, {-7, 4}).output("y");
  below.node("Reshape", {"x", "shape"}, {"y"});
  check_error(below, ErrorKind::model, {"Reshape \"Reshape1\"", "-7"});
}

TEST_CASE("inputs and outputs that a node needs and has not are refused") {
  OnnxFile input;
  input.input("x", {"N", 4}).output("y");
  input.node("MatMul", {"x"}, {"y"});
  check_error(input, ErrorKind::model, {"MatMul \"MatMul1\"", "it needs input 1"});
  OnnxFile left_out;
  left_out.input("x", {"N", 4}).output("y");
  left_out.node("Add", {"", "x"}, {"y"});
  check_error(left_out, ErrorKind::model, {"Add \"Add1\"", "it needs input 0"});
  OnnxFile output = one_node("Relu");
  output.node("ConstantOfShape", {"y"}, {});
  check_strict_error(output, ErrorKind::model,
                     {"ConstantOfShape \"ConstantOfShape2\"", "it has no outputs"});
}

TEST_CASE("versions beyond 32 bits are as unknown as others") {
  OnnxFile file = one_node("Relu");
  file.model.mutable_opset_import(0)->set_version((std::int64_t{1} << 32) + 20);
  check_error(file, ErrorKind::unsupported, {"opset 4294967316", "1 to 28"});
}

TEST_CASE("names that two things have, or that are none, are refused") {
  OnnxFile inputs = one_node("Relu");
  inputs.input("x", {"N", 4});
  check_error(inputs, ErrorKind::model, {"two inputs are called \"x\""});
  OnnxFile nameless = one_node("Relu");
  nameless.input("", {"N", 4});
  check_error(nameless, ErrorKind::model, {"an input has no name"});
  OnnxFile tensors = one_node("Relu");
  tensors.floats("w", {1}, {1}).floats("w", {1}, {2});
  check_strict_error(tensors, ErrorKind::model, {"two tensors are called \"w\""});
  OnnxFile given = one_node("Relu");
  given.floats("y", {1}, {1});
  check_error(given, ErrorKind::model, {"Relu \"Relu1\"", "its output \"y\" is defined twice"});
  OnnxFile input = one_node("Relu");
  input.node("Abs", {"y"}, {"x"});
  check_strict_error(input, ErrorKind::model,
                     {"Abs \"Abs2\"", "its output \"x\" is defined twice"});
  OnnxFile outputs = one_node("Relu");
  outputs.output("y");
  check_error(outputs, ErrorKind::model, {"two outputs are called"});
  OnnxFile coded;
  coded.input("x", {"N", 2}).floats("w\xff", {2}, {1, 2}).output("y");
  coded.node("Add", {"x", "w\xff"}, {"y"});
  check_error(coded, ErrorKind::model, {"its name is no UTF-8"});
}

TEST_CASE("integers that are joined to themselves again and again take no memory") {
  constexpr int times = 48;
  OnnxFile file;
  file.input("x", {"N", "M"}).output("y");
  file.node("Shape", {"x"}, {"s0"});
  for (int i = 0; i < times; ++i) {
    const std::string from = "s" + std::to_string(i);
    testing::set(file.node("Concat", {from, from}, {"s" + std::to_string(i + 1)}), "axis", 0);
  }
  file.node("Neg", {"s" + std::to_string(times)}, {"y"});
  CHECK(testing::statements_of(file).ends_with("return y\n"));
}

TEST_CASE("messages nested a thousand deep are refused, whatever they are") {
  constexpr int depth = 1000;
  OnnxFile types = one_node("Relu");
  onnx::TypeProto* type = types.model.mutable_graph()->mutable_input(0)->mutable_type();
  for (int i = 0; i < depth; ++i) type = type->mutable_sequence_type()->mutable_elem_type();
  check_error(types, ErrorKind::model, {"nested deeper than 100"});
  OnnxFile body = two_layers();
  onnx::NodeProto* node = body.model.mutable_functions(0)->mutable_node(0);
  for (int i = 0; i < depth; ++i) {
    onnx::AttributeProto* attribute = node->add_attribute();
    attribute->set_name("body");
    node = attribute->add_graphs()->add_node();
  }
  check_error(body, ErrorKind::model, {"nested deeper than 100"});
}
