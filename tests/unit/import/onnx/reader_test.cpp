// ONNX models that the host reads, and such in memory.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>

#include "dyn/dyn.hpp"
#include "tests/support/map_reader.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/onnx_file.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::MapReader;
using testing::OnnxFile;

namespace {

std::string bytes_of(const OnnxFile& file) { return file.model.SerializeAsString(); }

std::string bytes_of(std::vector<float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// Two floats at byte 4 of another file.
void add_external(OnnxFile& file, const std::string& name, const std::string& location) {
  onnx::TensorProto& tensor = *file.model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(2);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, const std::string& value) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", location);
  add("offset", "4");
}

/// y = x + w, of which w is in that file.
OnnxFile sum_with(const std::string& location) {
  OnnxFile file;
  file.input("x", {"N", 2}).output("y");
  file.node("Add", {"x", "w"}, {"y"});
  add_external(file, "w", location);
  return file;
}

const std::string data = bytes_of({-1, 10, 20});

/// y = sum of (x + w) over the axes that an input holds: it is imported again for each.
OnnxFile sum_with_external_weight() {
  OnnxFile file;
  file.input("x", {"A", 2}).input("axes", {"K"}, onnx::TensorProto::INT64).output("y");
  add_external(file, "w", "w.bin");
  file.node("Add", {"x", "w"}, {"h"});
  testing::set(file.node("ReduceSum", {"h", "axes"}, {"y"}), "keepdims", 0);
  return file;
}

void check_sum(const Graph& graph) {
  const std::vector<float> x{1, 2};
  const Outputs outputs = graph.run({{"x", Tensor::view(x, {1, 2})}});
  CHECK(outputs["y"].data<float>()[0] == 11);
  CHECK(outputs["y"].data<float>()[1] == 22);
}

/// x is [[1, 2], [3, 4]]; with w it is [[11, 22], [13, 24]].
void check_axis(const Graph& graph, std::int64_t axis) {
  const std::vector<float> x{1, 2, 3, 4};
  const Outputs outputs = graph.run(
      {{"x", Tensor::view(x, {2, 2})}, {"axes", Tensor::from<std::int64_t>({axis}, {1})}});
  const std::span<const float> y = outputs["y"].data<float>();
  REQUIRE(y.size() == 2);
  CHECK(y[0] == (axis == 0 ? 24 : 33));
  CHECK(y[1] == (axis == 0 ? 46 : 37));
}

/// Checks the error of a load of "m/net.onnx" through this reader.
void check_refused(const std::shared_ptr<Reader>& reader, ErrorKind kind,
                   const std::vector<std::string>& parts) {
  try {
    Graph::from_reader("m/net.onnx", reader, testing::uncached());
    FAIL_CHECK("no error was thrown");
  } catch (const Error& error) {
    const std::string text = error.what();
    CAPTURE(text);
    CHECK(name_of(error.kind()) == name_of(kind));
    for (const std::string& part : parts) {
      CAPTURE(part);
      CHECK(text.find(part) != std::string::npos);
    }
  }
}

std::shared_ptr<MapReader> packed(const OnnxFile& file) {
  return std::make_shared<MapReader>(std::map<std::string, std::string>{
      {"m/net.onnx", bytes_of(file)}, {"m/data/w.bin", data}, {"m/w.bin", data}});
}

}  // namespace

TEST_CASE("an ONNX model and its external data are read through a reader, and nothing beside it") {
  // Files of the same names on disk have other contents.
  const testing::TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directories(folder.path() / "m/data");
  std::ofstream(folder.path() / "m/net.onnx") << "other";
  std::ofstream(folder.path() / "m/data/w.bin") << std::string(12, '\7');
  std::filesystem::current_path(folder.path());
  for (const bool lends : {false, true}) {
    CAPTURE(lends);
    const auto reader = packed(sum_with("data/w.bin"));
    reader->lends = lends;
    const Graph graph = Graph::from_reader("m/net.onnx", reader, testing::uncached());
    check_sum(graph);
    CHECK(reader->bytes_read.empty() == lends);
    if (!lends) CHECK(reader->bytes_read["m/data/w.bin"] == 8);  // not what stands before it
    // It holds for all sizes: nobody needs the reader any more.
    CHECK(reader.use_count() == 1);
    for (const std::string& call : reader->calls) CHECK(call.find("identity") == std::string::npos);
  }
  std::filesystem::current_path(before);
}

TEST_CASE("the name of a model does not say its format, its first bytes do") {
  const auto reader = std::make_shared<MapReader>(std::map<std::string, std::string>{
      {"a.dyn", bytes_of(sum_with("w.bin"))},
      {"w.bin", data},
      {"b.onnx",
       "# a text\ndyn 1\ndim N in 0..9\ngraph g(x: f32[N]) -> (y: f32[N]) {\n"
       "  y = neg(x)\n  return y\n}\n"},
      {"c",
       "\x7F"
       "ELF"},
      {"d", ""}});
  check_sum(Graph::from_reader("a.dyn", reader, testing::uncached()));
  CHECK(Graph::from_reader("b.onnx", reader, testing::uncached()).inputs()[0].shape == "[N]");
  CHECK_THROWS_WITH_AS(Graph::from_reader("c", reader, testing::uncached()),
                       doctest::Contains("'c' is neither dyn's text, which begins with \"dyn 1\", "
                                         "nor an ONNX model: its first bytes are \"\\x7fELF"),
                       Error);
  CHECK_THROWS_WITH_AS(Graph::from_reader("d", reader, testing::uncached()),
                       doctest::Contains("the model 'd' is empty"), Error);
}

TEST_CASE("a model that is imported again reads through its reader as long as the graph lives") {
  const auto reader = packed(sum_with_external_weight());
  {
    const Graph graph = Graph::from_reader("m/net.onnx", reader, testing::uncached());
    CHECK(reader.use_count() > 1);
    check_axis(graph, 0);
    reader->fault = [](const std::string&) { throw std::runtime_error("the key has expired"); };
    CHECK_THROWS_WITH_AS(check_axis(graph, 1), doctest::Contains("the key has expired"), Error);
    check_axis(graph, 0);  // what it has is not asked for again
    reader->fault = nullptr;
    check_axis(graph, 1);
    reader->files["m/net.onnx"] += '\0';
    CHECK_THROWS_WITH_AS(graph.run({{"x", Tensor::from<float>({1, 2}, {1, 2})},
                                    {"axes", Tensor::from<std::int64_t>({0, 1}, {2})}}),
                         doctest::Contains("m/net.onnx has changed since the model was loaded"),
                         Error);
  }
  CHECK(reader.use_count() == 1);
}

TEST_CASE("an ONNX model in memory outlives the caller's bytes, also where it is imported again") {
  std::string model = bytes_of(sum_with_external_weight()), weights = data;
  const Graph graph = Graph::from_memory(model, {{"./w.bin", weights}}, testing::uncached());
  std::ranges::fill(model, '\xff');
  std::ranges::fill(weights, '\xff');
  check_axis(graph, 0);
  check_axis(graph, 1);
  check_sum(
      Graph::from_memory(bytes_of(sum_with("w.bin")), {{"w.bin", data}}, testing::uncached()));
  CHECK_THROWS_WITH_AS(
      Graph::from_memory(bytes_of(sum_with("w.bin")), {{"v.bin", data}}, testing::uncached()),
      doctest::Contains("the tensor w: cannot read 'w.bin'"), Error);
}

TEST_CASE("a file with the name of a text that is none says what it is") {
  const testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "m.dyn").string();
  std::ofstream(path) << "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
  CHECK_THROWS_WITH_AS(Graph::load(path, testing::uncached()),
                       doctest::Contains("m.dyn: not dyn's text. It is a pointer of Git LFS"),
                       Error);
}

TEST_CASE("bytes that are no model are refused with their reason") {
  const auto refused = [](std::string_view bytes, const std::string& part) {
    CHECK_THROWS_WITH_AS(Graph::from_memory(bytes, {}, testing::uncached()),
                         doctest::Contains(part.c_str()), Error);
  };
  refused({}, "the model '<memory>' is empty");
  refused("graph", "is neither dyn's text");
  refused(std::string_view("\0\1\2", 3), "its first bytes are \"\\x00\\x01\\x02\"");
  refused("dyn 2\n", "version 2");
  refused("<!DOCTYPE html>", "'<memory>' is no model. It is a page of HTML");
  // Begins as an ONNX model does.
  refused(std::string("\x08\0\0\0\0\0\0\0{\"w\": {}}", 17),
          "<memory>: not an ONNX model. It is a safetensors file");
  const std::string whole = bytes_of(sum_with("w.bin"));
  for (std::size_t length = 1; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK_THROWS_AS(
        Graph::from_memory(whole.substr(0, length), {{"w.bin", data}}, testing::uncached()), Error);
  }
  refused(whole.substr(0, whole.size() - 3), "<memory>: not a whole ONNX model");
  Options free;
  free.free_dims = {{"x", {"N"}}};
  CHECK_THROWS_WITH_AS(Graph::from_memory("dyn 1\n", {}, free), doctest::Contains("free_dims"),
                       Error);
}

TEST_CASE("a reader that fails is an error with the file, the bytes and its own words") {
  check_refused(nullptr, ErrorKind::user, {"the reader of 'm/net.onnx' is null"});
  check_refused(std::make_shared<MapReader>(std::map<std::string, std::string>{}),
                ErrorKind::device,
                {"cannot read 'm/net.onnx'", "its size", "no file m/net.onnx in the container"});
  const auto reader = packed(sum_with("data/w.bin"));
  reader->files.erase("m/data/w.bin");
  check_refused(reader, ErrorKind::device,
                {"the tensor w", "'m/data/w.bin'", "no file m/data/w.bin in the container"});
  reader->fault = [](const std::string& call) {
    if (call.starts_with("read"))
      throw Error(ErrorKind::unsupported, "no such cipher", {"container 7"});
  };
  check_refused(reader, ErrorKind::unsupported,
                {" bytes at byte 0", "no such cipher", "in container 7"});
  reader->fault = [](const std::string&) { throw 7; };
  check_refused(reader, ErrorKind::device, {"no std::exception"});
}

TEST_CASE("whatever the reader's call that fails, the load is an error, and a later one is right") {
  const auto reader = packed(sum_with("data/w.bin"));
  check_sum(Graph::from_reader("m/net.onnx", reader, testing::uncached()));
  const std::size_t calls = reader->calls.size();
  REQUIRE(calls > 4);
  for (std::size_t failing = 1; failing <= calls; ++failing) {
    CAPTURE(failing);
    std::size_t left = failing;
    reader->fault = [&](const std::string&) {
      if (--left == 0) throw std::runtime_error("the line is cut");
    };
    check_refused(reader, ErrorKind::device, {"the line is cut"});
    CHECK(left == 0);
    CHECK(reader.use_count() == 1);
  }
  reader->fault = nullptr;
  check_sum(Graph::from_reader("m/net.onnx", reader, testing::uncached()));
}

namespace {

/// Says what is not true of its files.
class LyingReader final : public MapReader {
 public:
  using MapReader::MapReader;

  std::uint64_t size(const std::string& name) override {
    return name == about && claimed ? *claimed : MapReader::size(name);
  }
  std::size_t read(const std::string& name, std::uint64_t offset,
                   std::span<std::byte> into) override {
    const std::size_t got = MapReader::read(name, offset, into);
    return name == about ? got + more : got;
  }
  std::optional<std::span<const std::byte>> in_place(const std::string& name) override {
    if (name == about && nowhere) return std::span<const std::byte>(nothing(), nowhere);
    return MapReader::in_place(name);
  }

  std::string about;
  std::optional<std::uint64_t> claimed;
  std::size_t more = 0, nowhere = 0;

 private:
  static const std::byte* nothing() { return nullptr; }
};

}  // namespace

TEST_CASE("a reader that lies about sizes and bytes is an error") {
  const OnnxFile file = sum_with("data/w.bin");
  const auto lying = [&](const std::string& about) {
    auto reader = std::make_shared<LyingReader>(
        std::map<std::string, std::string>{{"m/net.onnx", bytes_of(file)}, {"m/data/w.bin", data}});
    reader->about = about;
    return reader;
  };
  const std::uint64_t whole = bytes_of(file).size();
  for (const std::uint64_t size :
       {whole + 1, std::uint64_t{1} << 62, std::numeric_limits<std::uint64_t>::max()}) {
    CAPTURE(size);
    const auto reader = lying("m/net.onnx");
    reader->claimed = size;
    check_refused(reader, ErrorKind::device,
                  {"cannot read 'm/net.onnx'", "gave " + std::to_string(whole)});
  }
  const auto small = lying("m/net.onnx");
  small->claimed = whole - 2;
  check_refused(small, ErrorKind::model, {"m/net.onnx: not a whole ONNX model"});
  const auto weights = lying("m/data/w.bin");
  weights->claimed = 11;
  check_refused(weights, ErrorKind::model,
                {"the tensor w", "m/data/w.bin at byte 4, and needs 8 bytes; the file has 11"});
  weights->claimed = 12;
  weights->files["m/data/w.bin"].resize(9);
  check_refused(weights, ErrorKind::device,
                {"'m/data/w.bin'", "asked for 8 bytes at byte 4, gave 5", "the file has 12"});
  weights->files["m/data/w.bin"] = data;
  weights->more = 1;
  check_refused(weights, ErrorKind::device, {"asked for 8 bytes at byte 4, gave 9"});
  const auto nowhere = lying("m/net.onnx");
  nowhere->nowhere = 100;
  check_refused(nowhere, ErrorKind::device, {"100 bytes lie in memory, at no address"});
}

TEST_CASE("names that lead out of a model's folder are refused before the reader is asked") {
  for (const std::string& location :
       {std::string("../w.bin"), std::string("data/../../w.bin"), std::string("/m/data/w.bin"),
        std::string(), std::string("."), std::string("data/"), std::string("w.bin\0x", 7)}) {
    CAPTURE(location);
    const auto reader = packed(sum_with(location));
    check_refused(reader, ErrorKind::model, {"the tensor w", "not below its folder"});
    for (const std::string& call : reader->calls) CHECK(call.ends_with(" m/net.onnx"));
  }
  check_sum(
      Graph::from_reader("m/net.onnx", packed(sum_with("data/./x/../w.bin")), testing::uncached()));
}
