// Prepacked weights on disk, on the real target: a model computes with its weights files, whatever
// the disk holds.

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include "dyn/dyn.hpp"
#include "src/runtime/executables/planned_executable.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/weights/content_hash.hpp"
#include "src/runtime/weights/weight_cache.hpp"
#include "src/runtime/weights/weight_loader.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/runtime/load/support.hpp"

namespace fs = std::filesystem;

// A namespace of its own: the sizes of its layers have plain names.
namespace dyn::testing::weight_cache {
namespace {

/// Both weights are packed, one of them transposed; the bias lies as in the file.
const char* const two_layers = R"(dyn 1
dim M in 0..8
weights "w.safetensors"
graph g(x: f32[M, 120]) -> (y: f32[M, 301]) {
  h = matmul(x, w: f32[120, 1000]) + b: f32[1000]
  y = matmul(h, v: f32[301, 1000]) transpose_b=true
  return y
}
)";
constexpr std::int64_t rows = 3, depth = 120, hidden = 1000, columns = 301;
constexpr std::size_t elements = depth * hidden + hidden + columns * hidden;

unsigned seed() { return static_cast<unsigned>(test_seed()); }

std::vector<float> salted_values(std::size_t count, unsigned salt) {
  return random_values(count, seed() + salt);
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// A model in a folder of its own, and a cache directory.
class Fixture {
 public:
  Fixture() {
    options.cache_dir = cache().string();
    options.threads = 2;
    options.log = [this](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex_);
      (log += line) += '\n';
    };
    set_weights(1);
  }

  /// Writes the weights file in place, then waits until its time stamp differs from that of a later
  /// state.
  void set_weights(unsigned salt, const std::string& folder = "") {
    values = salted_values(elements, salt);
    const std::string data(reinterpret_cast<const char*>(values.data()), values.size() * 4);
    constexpr std::size_t w = 4 * depth * hidden, b = w + 4 * hidden, v = b + 4 * columns * hidden;
    const auto entry = [](const char* key, const char* shape, std::size_t from, std::size_t to) {
      return "\"" + std::string(key) + "\":{\"dtype\":\"F32\",\"shape\":" + shape +
             ",\"data_offsets\":[" + std::to_string(from) + "," + std::to_string(to) + "]}";
    };
    const std::string header = "{" + entry("w", "[120,1000]", 0, w) + "," +
                               entry("b", "[1000]", w, b) + "," + entry("v", "[301,1000]", b, v) +
                               "} ";
    fs::create_directories(root_.path() / folder);
    write_file(root_.path() / folder / "w.safetensors", safetensors_file(header, data));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }

  Graph load(const std::string& folder = "") const {
    return Graph::from_text(two_layers, options, (root_.path() / folder).string());
  }

  fs::path weights_path() const { return root_.path() / "w.safetensors"; }
  fs::path cache() const { return root_.path() / "cache"; }
  std::vector<fs::path> kept() const {
    std::vector<fs::path> files;
    for (const auto& entry : runtime::kept_weights(CacheDirectory(options.cache_dir)))
      files.emplace_back(entry.path);
    return files;
  }

  Options options;
  std::vector<float> values;  ///< of the weights file: w, b, v
  std::string log;

 private:
  TemporaryFolder root_;
  mutable std::mutex mutex_;
};

/// y by plain loops in double, in terms of the weights of `fixture`.
void check_outputs(const Graph& graph, const std::vector<float>& values) {
  const std::vector<float> x = salted_values(rows * depth, 99);
  const Outputs outputs = graph.run({{"x", Tensor::view(x.data(), {rows, depth})}});
  const float *w = values.data(), *b = w + depth * hidden, *v = b + hidden;
  double worst = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<double> h(hidden);
    for (std::int64_t i = 0; i < hidden; ++i) {
      h[static_cast<std::size_t>(i)] = b[i];
      for (std::int64_t k = 0; k < depth; ++k)
        h[static_cast<std::size_t>(i)] +=
            double{x[static_cast<std::size_t>(row * depth + k)]} * w[k * hidden + i];
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < hidden; ++i)
        sum += h[static_cast<std::size_t>(i)] * v[j * hidden + i];
      worst = std::max(
          worst,
          std::abs(sum - outputs["y"].data<float>()[static_cast<std::size_t>(row * columns + j)]));
    }
  }
  CHECK(worst < 2e-3);
}

/// The line of that name in the part of /proc/self/smaps that covers `address`, in bytes.
std::size_t mapping_figure(const void* address, const std::string& name) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) {
      inside = reinterpret_cast<unsigned long>(address) >= first &&
               reinterpret_cast<unsigned long>(address) < last;
    } else if (inside && line.starts_with(name + ":")) {
      return std::strtoul(line.c_str() + name.size() + 1, nullptr, 10) * 1024;
    }
  }
  FAIL("no such mapping");
  return 0;
}

const std::byte* content(const Graph& graph) {
  return dynamic_cast<const runtime::PlannedExecutable&>(graph.model()->executable())
      .weights()
      .host()
      .content()
      .data();
}

}  // namespace

TEST_CASE("weights are written once, then mapped") {
  const Fixture fixture;
  {
    const Graph first = fixture.load();
    CHECK_FALSE(first.load_report().weights_from_disk);
    CHECK(first.load_report().weight_bytes_mapped == first.load_report().weight_bytes);
    check_outputs(first, fixture.values);
  }
  CHECK(fixture.kept().size() == 1);
  const Graph second = fixture.load();
  CHECK(second.load_report().weights_from_disk);
  CHECK(second.load_report().weight_bytes_mapped == second.load_report().weight_bytes);
  CHECK(second.load_report().weights_write == 0);
  check_outputs(second, fixture.values);
}

TEST_CASE("mapped weights are pages of the file, present after the load, and shared") {
  const Fixture fixture;
  const Graph written = fixture.load(), mapped = fixture.load();
  for (const Graph* graph : {&written, &mapped}) {
    CHECK(mapping_figure(content(*graph), "Anonymous") == 0);
    CHECK(mapping_figure(content(*graph), "Rss") >= graph->load_report().weight_bytes);
    CHECK(mapping_figure(content(*graph), "Private_Clean") ==
          0);  // another mapping has the same pages
    CHECK(mapping_figure(content(*graph), "Private_Dirty") == 0);
  }
  Fixture without;
  without.options.weight_cache_bytes = 0;
  const Graph own = without.load();
  CHECK(mapping_figure(content(own), "Anonymous") >= own.load_report().weight_bytes);
}

TEST_CASE("a changed weights file is read again, be its size and time the same") {
  Fixture fixture;
  fixture.load();
  const auto time = fs::last_write_time(fixture.weights_path());
  fixture.set_weights(2);
  fs::last_write_time(fixture.weights_path(), time);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  const Graph changed = fixture.load();
  CHECK_FALSE(changed.load_report().weights_from_disk);
  check_outputs(changed, fixture.values);
  CHECK(fixture.kept().size() == 1);  // it replaced the one of the former state
  const Graph again = fixture.load();
  CHECK(again.load_report().weights_from_disk);
  check_outputs(again, fixture.values);
}

TEST_CASE("the state of a file that has just been written is not trusted") {
  const Fixture fixture;
  const runtime::FileState state = runtime::file_state(fixture.weights_path().string());
  CHECK(state.size_bytes == fs::file_size(fixture.weights_path()));
  CHECK_FALSE(runtime::is_settled(state, state.changed + 1'000'000));
  CHECK_FALSE(runtime::is_settled(state, state.changed - 1'000'000'000));
  CHECK(runtime::is_settled(state, state.changed + 1'000'000'000));
  CHECK(runtime::file_state("/proc/self/nowhere") == runtime::FileState());
}

TEST_CASE("damaged, truncated and foreign files are written anew") {
  Fixture fixture;
  fixture.load();
  const fs::path path = fixture.kept().at(0);
  const std::string good = read_file(path);
  std::vector<std::string> bad = {"",
                                  "x",
                                  std::string(100000, 'x'),
                                  good.substr(0, good.size() / 2),
                                  good.substr(0, good.size() - 1),
                                  good + "x",
                                  good.substr(0, 40),
                                  std::string(good.size(), '\0')};
  std::mt19937 random(seed());
  for (std::size_t first = 0; first < good.size(); first += std::size_t{1} << 19) {
    bad.push_back(good);
    const std::size_t at = std::min(good.size() - 1, first + random() % (1u << 19));
    bad.back()[at] = static_cast<char>(bad.back()[at] ^ (1 << random() % 8));
  }
  for (const std::size_t field : {16, 24, 32, 40}) {
    bad.push_back(good);
    std::memset(bad.back().data() + field, 0xff, 8);
  }
  bad.push_back(good);
  std::swap_ranges(bad.back().end() - 4096, bad.back().end() - 2048, bad.back().end() - 2048);
  for (const std::string& file : bad) {
    write_file(path, file);
    const Graph graph = fixture.load();
    CHECK_FALSE(graph.load_report().weights_from_disk);
    check_outputs(graph, fixture.values);
    CHECK(read_file(path) == good);
  }
  CHECK(fixture.log.find("damaged") != std::string::npos);
  // Whole, but with the weights of another file of the same layout.
  fixture.set_weights(2, "other");
  fixture.load("other");
  const std::vector<fs::path> both = fixture.kept();
  REQUIRE(both.size() == 2);
  fs::copy_file(path, both[0] == path ? both[1] : both[0], fs::copy_options::overwrite_existing);
  const Graph other = fixture.load("other");
  CHECK_FALSE(other.load_report().weights_from_disk);
  check_outputs(other, fixture.values);
}

TEST_CASE("a disk that is full or cannot be written to is done without") {
  Fixture fixture;
  fixture.load();  // compiles, so that nothing but weights is written below
  fs::remove(fixture.kept().at(0));
  const auto check_unwritten = [&](const char* reason) {
    fixture.log.clear();
    const Graph graph = fixture.load();
    CHECK(graph.load_report().weight_bytes_mapped == 0);
    check_outputs(graph, fixture.values);
    CHECK(fixture.log.find("not kept on disk") != std::string::npos);
    CHECK(fixture.log.find(reason) != std::string::npos);
  };
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1 << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  check_unwritten("too large");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  for (const auto& entry : fs::directory_iterator(fixture.cache()))
    CHECK(entry.path().extension() != ".tmp");

  fixture.options.cache_dir = "/proc/self/nowhere";
  check_unwritten("No such file");
  fixture.options.cache_dir = fixture.weights_path().string();
  check_unwritten("Not a directory");
}

TEST_CASE("a folder in the place of a file does no harm") {
  const Fixture fixture;
  fixture.load();
  const fs::path path = fixture.kept().at(0);
  fs::remove(path);
  fs::create_directories(path / "inside");
  check_outputs(fixture.load(), fixture.values);
}

TEST_CASE("beyond the budget the least recently used go first, and what a killed process left") {
  Fixture fixture;
  const auto age = [](const fs::path& path, int hours) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (const char* folder : {"a", "b"}) fixture.set_weights(3, folder);
  fixture.load("a");
  const fs::path a = fixture.kept().at(0);
  fixture.load("b");
  const fs::path b = fixture.kept().at(0) == a ? fixture.kept().at(1) : fixture.kept().at(0);
  age(a, 3);
  age(b, 2);
  CHECK(fixture.load("a").load_report().weights_from_disk);  // used now
  const fs::path abandoned = a.string() + ".1.0.tmp", unfinished = a.string() + ".2.0.tmp",
                 foreign = fixture.cache() / "weights-of-mine.bin";
  for (const fs::path& path : {abandoned, unfinished, foreign}) write_file(path, "x");
  age(abandoned, 2);
  age(foreign, 1000);
  fixture.options.weight_cache_bytes = fs::file_size(a) * 5 / 2;
  CHECK(fixture.load("").load_report().weight_bytes_mapped > 0);
  CHECK(fs::exists(a));
  CHECK_FALSE(fs::exists(b));
  CHECK_FALSE(fs::exists(abandoned));
  CHECK(fs::exists(unfinished));
  CHECK(fs::exists(foreign));
  fixture.options.weight_cache_bytes =
      fs::file_size(a) / 2;  // less than one file needs: nothing is kept, nothing removed
  CHECK(fixture.load("b").load_report().weight_bytes_mapped == 0);
  CHECK(fs::exists(a));
}

TEST_CASE("what is not kept on disk") {
  Fixture fixture;
  const auto check_nothing = [&](const Graph& graph) {
    CHECK(graph.load_report().weight_bytes_mapped == 0);
    CHECK(graph.load_report().weight_bytes > 1'000'000);
    CHECK(fixture.kept().empty());
  };
  const std::string file = read_file(fixture.weights_path());
  check_nothing(Graph::from_memory(two_layers, {{"w.safetensors", file}}, fixture.options));
  Options options = fixture.options;
  options.random_weights = true;
  check_nothing(
      Graph::from_text(two_layers, options, fixture.weights_path().parent_path().string()));
  options = fixture.options;
  options.weight_cache_bytes = 0;
  check_nothing(
      Graph::from_text(two_layers, options, fixture.weights_path().parent_path().string()));
  options = fixture.options;
  options.cache_dir = "none";
  check_nothing(
      Graph::from_text(two_layers, options, fixture.weights_path().parent_path().string()));
}

TEST_CASE("the kept file is its owner's alone") {
  Fixture fixture;
  const auto mask = ::umask(0);
  fixture.load();
  ::umask(mask);
  CHECK(static_cast<int>(fs::status(fixture.kept().at(0)).permissions()) == 0600);
  CHECK(static_cast<int>(fs::status(fixture.cache()).permissions()) == 0700);
}

TEST_CASE("many loads at once") {
  const Fixture fixture;
  const auto load_some = [&] {
    for (int i = 0; i < 3; ++i) check_outputs(fixture.load(), fixture.values);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(load_some);
  for (std::thread& thread : threads) thread.join();
  CHECK(fixture.kept().size() == 1);
  CHECK(fixture.load().load_report().weights_from_disk);
}

TEST_CASE("the checksum depends on every bit, on order and on length") {
  std::mt19937 random(seed());
  for (const std::size_t size : {0, 1, 7, 8, 127, 128, 129, 1000}) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    const std::uint64_t hash = runtime::content_hash(bytes);
    std::vector<std::byte> longer = bytes;
    longer.push_back(std::byte{0});
    CHECK(runtime::content_hash(longer) != hash);
    for (std::size_t bit = 0; bit < size * 8; ++bit) {
      std::vector<std::byte> changed = bytes;
      changed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      CHECK(runtime::content_hash(changed) != hash);
    }
    for (std::size_t at = 0; at + 16 <= size; at += 8) {
      std::vector<std::byte> swapped = bytes;
      std::swap_ranges(swapped.begin() + static_cast<std::ptrdiff_t>(at),
                       swapped.begin() + static_cast<std::ptrdiff_t>(at) + 8,
                       swapped.begin() + static_cast<std::ptrdiff_t>(at) + 8);
      CHECK(runtime::content_hash(swapped) != hash);
    }
  }
}

}  // namespace dyn::testing::weight_cache
