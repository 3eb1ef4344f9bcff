// Options::weights on the CPU: what is kept in fewer bytes, the results, and the errors.

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <thread>
#include <utility>

#include "dyn/dyn.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/weights/weight_cache.hpp"
#include "targets/cpu/tile/group_instructions.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "tests/support/half.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/runtime/load/support.hpp"

namespace fs = std::filesystem;

// A namespace of its own: the sizes of its layer have plain names.
namespace dyn::testing::narrow_weights {
namespace {

constexpr std::int64_t depth = 600, columns = 2000, rows = 2;

const char* const layer = R"(dyn 1
dim M in 0..8
weights "w.safetensors"
graph g(x: f32[M, 600]) -> (y: f32[M, 2000]) {
  y = relu(matmul(x, w: f32[600, 2000]) + b: f32[2000])
  return y
}
)";

Options with(const std::string& weights, const std::string& cache_dir = "none") {
  Options options;
  options.cache_dir = cache_dir;
  options.threads = 2;
  options.weights = weights;
  return options;
}

/// A weights file in a folder of its own.
class Folder {
 public:
  Folder() {
    w = random_values(depth * columns, 1);
    b = random_values(columns, 2);
    write();
  }

  void write() const {
    const std::string header =
        "{\"w\":{\"dtype\":\"F32\",\"shape\":[600,2000],\"data_offsets\":[0,4800000]},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[2000],\"data_offsets\":[4800000,4808000]}} ";
    const std::string data = std::string(reinterpret_cast<const char*>(w.data()), w.size() * 4) +
                             std::string(reinterpret_cast<const char*>(b.data()), b.size() * 4);
    std::ofstream(folder_.path() / "w.safetensors", std::ios::binary)
        << safetensors_file(header, data);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }

  Graph load(const Options& options) const {
    return Graph::from_text(layer, options, folder_.string());
  }
  std::string cache() const { return (folder_.path() / "cache").string(); }

  std::vector<float> w, b;

 private:
  TemporaryFolder folder_;
};

double kept(const std::string& precision, float weight, float largest) {
  if (precision == "bf16") return half_value(DType::bf16, half_bits(DType::bf16, weight));
  if (precision == "f16") return half_value(DType::f16, half_bits(DType::f16, weight));
  if (precision == "i8") return std::nearbyint(weight / (largest / 127)) * double{largest / 127};
  return weight;
}

/// The weights as this precision keeps them, column by column.
const std::vector<double>& kept_weights(const Folder& folder, const std::string& precision) {
  static std::map<std::pair<std::string, std::vector<float>>, std::vector<double>> known;
  std::vector<double>& values = known[{precision, folder.w}];
  for (std::size_t n = 0; values.size() < folder.w.size(); ++n) {
    float largest = 0;
    for (std::size_t at = n; at < folder.w.size(); at += columns)
      largest = std::max(largest, std::fabs(folder.w[at]));
    for (std::size_t at = n; at < folder.w.size(); at += columns)
      values.push_back(kept(precision, folder.w[at], largest));
  }
  return values;
}

/// The largest difference from plain loops over the weights as this precision keeps them, and over
/// x as `left` does.
double difference(const Graph& graph, const Folder& folder, const std::string& precision,
                  const std::string& left = "f32") {
  const std::vector<float> x = random_values(rows * depth, 3);
  const Outputs outputs = graph.run({{"x", Tensor::view(x.data(), {rows, depth})}});
  const std::span<const float> y = outputs["y"].data<float>();
  double worst = 0;
  const std::vector<double>& weights = kept_weights(folder, precision);
  for (std::size_t n = 0; n < columns; ++n) {
    const double* const column = weights.data() + n * depth;
    for (std::size_t m = 0; m < rows; ++m) {
      double sum = folder.b[n];
      for (std::size_t k = 0; k < depth; ++k) sum += kept(left, x[m * depth + k], 1) * column[k];
      worst = std::max(worst, std::fabs(std::max(sum, 0.0) - y[m * columns + n]));
    }
  }
  return worst;
}

bool converts_f16() { return codegen::can_widen(codegen::select_isa(""), DType::f16); }

}  // namespace

TEST_CASE("weights of 16 and 8 bits are kept so, and computed with so") {
  const Folder folder;
  const std::size_t wide = folder.load(with("f32")).load_report().weight_bytes;
  for (const auto& [precision, bytes] :
       {std::pair<std::string, std::size_t>{"bf16", 2}, {"f16", 2}, {"i8", 1}}) {
    if (precision == "f16" && !converts_f16()) continue;
    CAPTURE(precision);
    const Graph graph = folder.load(with(precision));
    CHECK(difference(graph, folder, precision) < 1e-4);
    CHECK(difference(graph, folder, "f32") > 1e-3);
    const std::size_t scales = precision == "i8" ? 2 * 2048 * 4 : 0;
    CHECK(graph.load_report().weight_bytes <= wide * bytes / 4 + scales + 4096);
    const Tensor none(DType::f32, {0, depth});
    CHECK(graph.run({{"x", none}})["y"].size() == 0);
  }
}

TEST_CASE("precision bf16 rounds both factors where the CPU multiplies such, else the weights") {
  const Folder folder;
  for (const codegen::Isa& isa : codegen::all_isas()) {
    if (!codegen::cpu_has(isa)) continue;
    CAPTURE(isa.name);
    Options options = with("");
    options.precision = "bf16";
    options.isa = isa.name;
    const Graph graph = folder.load(options);
    const bool both = cpu::multiplies_bfloats(isa);
    CHECK(difference(graph, folder, "bf16", both ? "bf16" : "f32") < 1e-4);
    CHECK(difference(graph, folder, "bf16", both ? "f32" : "bf16") > 1e-3);
    CHECK(graph.load_report().weight_bytes <=
          folder.load(with("f32")).load_report().weight_bytes / 2 + 4096);
  }
  Options narrower = with("i8");
  narrower.precision = "bf16";
  check_error(ErrorKind::unsupported, [&] { folder.load(narrower); }, "i8", "precision 'bf16'");
  check_error(ErrorKind::user, [&] { folder.load(with("i7")); }, "'i7'", "bf16");
  Options odd = with("i4");
  odd.weight_group = 48;
  check_error(ErrorKind::user, [&] { folder.load(odd); }, "48", "32, 64");
}

TEST_CASE("prepacked weights of one precision are never taken for those of another") {
  const Folder folder;
  const std::string cache = folder.cache();
  for (int round = 0; round < 2; ++round) {
    for (const std::string precision : {"bf16", "f16", "f32", "i8"}) {
      if (precision == "f16" && !converts_f16()) continue;
      CAPTURE(precision);
      CAPTURE(round);
      const Graph graph = folder.load(with(precision, cache));
      CHECK(graph.load_report().weights_from_disk == (round > 0));
      CHECK(difference(graph, folder, precision) < 1e-4);
    }
  }
  CHECK(runtime::kept_weights(CacheDirectory(cache)).size() == (converts_f16() ? 4 : 3));
}

TEST_CASE("NaN in weights of 8 and 4 bits is an error that names the weight; in 16 bits it stays") {
  Folder folder;
  folder.w[5 * columns + 7] = std::numeric_limits<float>::quiet_NaN();
  folder.write();
  for (const char* weights : {"i8", "i4"})
    check_error(
        ErrorKind::model, [&] { folder.load(with(weights)); }, "'w'", "column 7", "nan", "bf16");
  Options in_bytes = with("");
  in_bytes.precision = "i8";
  check_error(ErrorKind::model, [&] { folder.load(in_bytes); }, "'w'", "column 7", "nan", "bf16");
  const std::vector<float> x(depth, 1);
  for (const std::string precision : {"f32", "bf16"}) {
    const Outputs outputs =
        folder.load(with(precision)).run({{"x", Tensor::view(x.data(), {1, depth})}});
    CHECK(std::isfinite(outputs["y"].data<float>()[6]));
  }
}

TEST_CASE("an instruction set that cannot convert f16 says so") {
  const Folder folder;
  Options options = with("f16");
  options.isa = "sse2";
  check_error(ErrorKind::unsupported, [&] { folder.load(options); }, "'sse2'", "bf16");
  options.weights = "bf16";
  CHECK(difference(folder.load(options), folder, "bf16") < 1e-4);
  options.weights = "i8";
  CHECK(difference(folder.load(options), folder, "i8") < 1e-4);
}

TEST_CASE("a weight of 16 bits that is cast for products alone stays in 16 bits") {
  const std::string text =
      "dyn 1\ndim S in 1..64\nweight w: bf16[64, 960] = random 1\n"
      "graph g(x: f32[S, 64]) -> (y: f32[S, 960]) {\n"
      "  wide = cast(w) dtype=f32\n  y = matmul(x, wide)\n  return y\n}\n";
  Options by_walking = with("f32");
  by_walking.device = "reference";
  by_walking.weights.clear();
  const Graph graph = Graph::from_text(text, with("f32")),
              walked = Graph::from_text(text, by_walking);
  // Nothing is cast in a run, as a kernel of its own or as a factor of the product.
  REQUIRE(graph.model()->problems().size() == 1);
  CHECK(graph.model()->problems()[0].contraction.value().b_value < 0);
  if (codegen::can_widen(codegen::select_isa(""), DType::bf16))
    CHECK(graph.load_report().weight_bytes <= 2 * 64 * 960 + 4096);
  std::vector<float> x(5 * 64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 2.5f;
  const NamedTensors inputs{{"x", Tensor::view(x, {5, 64})}};
  const Outputs actual = graph.run(inputs), expected = walked.run(inputs);
  for (std::size_t i = 0; i < 5 * 960; ++i)
    CHECK(actual["y"].data<float>()[i] ==
          doctest::Approx(expected["y"].data<float>()[i]).epsilon(1e-4));
}

TEST_CASE("a tied embedding is gathered from panels of 16 bits, also where other weights have 8") {
  const std::string text = R"(dyn 1
dim S in 1..64
weight table: f32[100, 24] = random 1
weight other: f32[24, 24] = random 2
graph g(ids: i64[S]) -> (y: f32[S, 100], h: f32[S, 24]) {
  h = gather(table, ids) axis=0
  y = matmul(matmul(h, other), table) transpose_b=true
  return y, h
}
)";
  const Graph wide = Graph::from_text(text, with("f32"));
  const std::vector<std::int64_t> ids{0, 99, -100, 17, 31, 32, 33, 64, -1};
  const NamedTensors inputs = {
      {"ids", Tensor::view(ids.data(), {static_cast<std::int64_t>(ids.size())})}};
  const Outputs expected = wide.run(inputs);
  for (const std::string precision : {"bf16", "f16", "i8", "i4"}) {
    if (precision == "f16" && !converts_f16()) continue;
    CAPTURE(precision);
    const Graph graph = Graph::from_text(text, with(precision));
    CHECK(graph.load_report().weight_bytes < wide.load_report().weight_bytes * 6 / 10);
    const Outputs actual = graph.run(inputs);
    const DType table = precision == "f16" ? DType::f16 : DType::bf16;
    int wrong = 0;
    for (std::size_t i = 0; i < expected["h"].data<float>().size(); ++i) {
      wrong += actual["h"].data<float>()[i] ==
                       half_value(table, half_bits(table, expected["h"].data<float>()[i]))
                   ? 0
                   : 1;
    }
    CHECK(wrong == 0);
    double worst = 0;
    for (std::size_t i = 0; i < expected["y"].data<float>().size(); ++i) {
      worst = std::max(
          worst, std::fabs(double{actual["y"].data<float>()[i]} - expected["y"].data<float>()[i]));
    }
    CHECK(worst < (precision == "i4" ? 0.5 : 0.05));
    CHECK(worst > 0);
  }
}

}  // namespace dyn::testing::narrow_weights
