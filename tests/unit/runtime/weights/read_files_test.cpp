// Weights files that the host reads, on the real target.

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>

#include "dyn/dyn.hpp"
#include "src/base/cache_directory.hpp"
#include "src/runtime/weights/weight_cache.hpp"
#include "tests/support/map_reader.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::check_error;
using testing::MapReader;

// A namespace of its own: the sizes of its layers have plain names.
namespace dyn::testing::read_files {
namespace {

/// `w` is packed and large enough to be kept; `b` lies as in the file.
const char* const one_layer = R"(dyn 1
dim M in 0..8
weights "data/w.safetensors"
graph g(x: f32[M, 600]) -> (y: f32[M, 500]) {
  y = matmul(x, w: f32[600, 500]) + b: f32[500]
  return y
}
)";
constexpr std::int64_t depth = 600, columns = 500;
constexpr std::size_t weights = depth * columns;
const char* const weights_name = "m/data/w.safetensors";

std::string file_of(const std::vector<float>& values) {
  const std::string middle = std::to_string(4 * weights),
                    end = std::to_string(4 * (weights + columns));
  return safetensors_file(
      R"({"w":{"dtype":"F32","shape":[600,500],"data_offsets":[0,)" + middle +
          R"(]},"b":{"dtype":"F32","shape":[500],"data_offsets":[)" + middle + "," + end + "]}}",
      std::string(reinterpret_cast<const char*>(values.data()), sizeof(float) * values.size()));
}

struct Packed {
  explicit Packed(unsigned seed = 1) : values(random_values(weights + columns, seed)) {
    reader->files[weights_name] = file_of(values);
  }

  Graph load(const Options& options = uncached()) const {
    return Graph::from_reader("m/net", reader, options);
  }

  void check(const Graph& graph) const {
    const std::vector<float> x(depth, 1);
    const Outputs outputs = graph.run({{"x", Tensor::view(x, {1, depth})}});
    const std::span<const float> y = outputs[0].data<float>();
    for (std::size_t n = 0; n < columns; ++n) {
      double sum = static_cast<double>(values[weights + n]);
      for (std::size_t k = 0; k < depth; ++k) sum += static_cast<double>(values[k * columns + n]);
      REQUIRE(y[n] == doctest::Approx(sum).epsilon(1e-4).scale(1));
    }
  }

  std::vector<float> values;
  std::shared_ptr<MapReader> reader =
      std::make_shared<MapReader>(std::map<std::string, std::string>{{"m/net", one_layer}});
};

/// A cache directory of its own.
struct Cache {
  Cache() {
    options.cache_dir = (folder.path() / "cache").string();
    options.threads = 2;
  }
  std::size_t kept() const {
    return runtime::kept_weights(CacheDirectory(options.cache_dir)).size();
  }
  TemporaryFolder folder;
  Options options;
};

}  // namespace
}  // namespace dyn::testing::read_files

using namespace dyn::testing::read_files;

TEST_CASE("weights are read through a reader, once, and the reader is free after the load") {
  for (const bool lends : {false, true}) {
    for (const char* device : {"cpu", "reference", "emulator"}) {
      CAPTURE(lends);
      CAPTURE(device);
      const Packed packed;
      packed.reader->lends = lends;
      const std::string before = packed.reader->files[weights_name];
      packed.check(packed.load(testing::uncached(2, device)));
      CHECK(packed.reader->bytes_read[weights_name] == (lends ? 0 : before.size()));
      // Memory that the host lends is not given back to the system.
      CHECK(packed.reader->files[weights_name] == before);
      CHECK(packed.reader.use_count() == 1);
    }
  }
}

TEST_CASE("parts of a model ask its reader for each weights file once") {
  // The model is cut in two by the size that nonzero() finds, and both parts read `w`.
  const auto reader = std::make_shared<MapReader>(std::map<std::string, std::string>{
      {"net", R"(dyn 1
dim N in 0..8
dim P
weights "w"
graph g(x: f32[N, 2], mark: f32[N]) -> (z: f32[_, 2]) {
  y = x + w: f32[2]
  at = nonzero(mark) count=P
  rows = gather(y, reshape(at) shape=[P]) axis=0
  z = rows * w
  return z
}
)"},
      {"w", testing::safetensors_file(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                                      std::string("\0\0\x80\x3f\0\0\0\x40", 8))}});
  const Graph graph = Graph::from_reader("net", reader, testing::uncached());
  const float mark[1] = {1};
  const Outputs outputs =
      graph.run({{"x", Tensor::from<float>({3, 4}, {1, 2})}, {"mark", Tensor::view(mark, {1})}});
  CHECK(outputs["z"].data<float>()[1] == 12);
  CHECK(reader->bytes_read["w"] == reader->files["w"].size());
}

TEST_CASE("weights of a reader without an identity are never written") {
  const Cache cache;
  const Packed packed;
  packed.check(packed.load(cache.options));
  CHECK(cache.kept() == 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cache.options.cache_dir))
    CHECK_MESSAGE((!entry.is_regular_file() || entry.file_size() < 4 * weights), entry.path());
}

TEST_CASE("with an identity prepacked weights are kept, and a load reads the header alone") {
  const Cache cache;
  Packed first;
  first.reader->identities[weights_name] = "sha256 1\n";
  {
    const Graph graph = first.load(cache.options);
    CHECK_FALSE(graph.load_report().weights_from_disk);
    first.check(graph);
  }
  CHECK(cache.kept() == 1);
  first.reader->bytes_read.clear();
  const Graph again = first.load(cache.options);
  CHECK(again.load_report().weights_from_disk);
  CHECK(first.reader->bytes_read[weights_name] < 200);
  first.check(again);

  // Others of the same name, layout and size.
  Packed second(2);
  second.reader->identities[weights_name] = "sha256 2\n";
  const Graph other = second.load(cache.options);
  CHECK_FALSE(other.load_report().weights_from_disk);
  second.check(other);
  CHECK(first.load(cache.options).load_report().weights_from_disk);

  // The host changes its mind while the weights are packed: nobody knows which they are.
  Packed third(3);
  third.reader->identities[weights_name] = "sha256 3";
  third.reader->fault = [&](const std::string& call) {
    if (call == std::string("read ") + weights_name)
      third.reader->identities[weights_name] = "sha256 4";
  };
  const std::size_t kept = cache.kept();
  third.check(third.load(cache.options));
  CHECK(cache.kept() == kept);
}

TEST_CASE(
    "whatever the reader's call for a text and its weights that fails, the load is an error") {
  const Packed packed;
  MapReader& reader = *packed.reader;
  packed.check(packed.load());
  const std::size_t calls = reader.calls.size();
  REQUIRE(calls > 6);
  for (std::size_t failing = 1; failing <= calls; ++failing) {
    CAPTURE(failing);
    std::size_t left = failing;
    reader.fault = [&](const std::string&) {
      if (--left == 0) throw std::runtime_error("the line is cut");
    };
    check_error(ErrorKind::device, [&] { packed.load(); }, "cannot read 'm/", "the line is cut");
    CHECK(left == 0);
    CHECK(packed.reader.use_count() == 1);
  }
  reader.fault = nullptr;
  packed.check(packed.load());
}

TEST_CASE("weights files of a reader that are broken or absent are errors that name them") {
  const Packed packed;
  MapReader& reader = *packed.reader;
  const std::string whole = reader.files[weights_name];
  const auto refused = [&](ErrorKind kind, const std::string& part) {
    check_error(kind, [&] { packed.load(); }, weights_name, part);
  };
  for (const std::size_t bytes : {0, 5, 8, 60}) {
    CAPTURE(bytes);
    reader.files[weights_name] = whole.substr(0, bytes);
    refused(ErrorKind::model, "weights file 'm/data/w.safetensors'");
  }
  reader.files[weights_name] = whole.substr(0, whole.size() - 4);
  refused(ErrorKind::model, "outside of the file's");
  reader.files.erase(weights_name);
  refused(ErrorKind::device, "no file m/data/w.safetensors in the container");
  const std::string text = one_layer;
  for (const char* name : {"../w.safetensors", "/w.safetensors", "x/../../w.safetensors", ""}) {
    CAPTURE(name);
    reader.files["m/net"] = "dyn 1\ndim M in 0..8\nweights \"" + std::string(name) + "\"" +
                            text.substr(text.find("\ngraph"));
    reader.calls.clear();
    check_error(ErrorKind::model, [&] { packed.load(); }, "not below its folder");
    for (const std::string& call : reader.calls) CHECK(call.ends_with(" m/net"));
  }
}
