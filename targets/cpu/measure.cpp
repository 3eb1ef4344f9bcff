#include "targets/cpu/measure.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <thread>

#include "dyn/error.hpp"
#include "targets/cpu/read_loop.hpp"

namespace dyn::cpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int rounds = 7;
constexpr double largest_spread = 0.05;
constexpr std::int64_t measured_depth = 256;

double now_seconds() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

// The size of the data or unified cache of `level` that CPU 0 uses: sysfs tells what a virtual machine really has, where
// CPUID may tell of the whole socket.
std::int64_t cache_bytes(int level, std::int64_t otherwise) {
  for (int index = 0; index < 8; ++index) {
    const std::string directory = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    std::string type;
    int found_level = 0;
    std::int64_t kilobytes = 0;
    if (!(std::ifstream(directory + "type") >> type)) break;
    std::ifstream(directory + "level") >> found_level;
    std::ifstream(directory + "size") >> kilobytes;
    if (found_level == level && type != "Instruction" && kilobytes > 0) return kilobytes << 10;
  }
  return otherwise;
}

/// Anonymous memory, huge pages where the system has them.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) throw Error(ErrorKind::device, "no memory to measure this machine");
    madvise(data_, bytes, MADV_HUGEPAGE);
    auto* words = static_cast<std::uint64_t*>(data_);
    for (std::size_t i = 0; i < bytes / 8; i += 8) words[i] = i;
  }
  ~Buffer() { munmap(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* data() const { return static_cast<char*>(data_); }

 private:
  void* data_;
  std::size_t bytes_;
};

// Best bytes per second of `threads` threads, each reading its own `bytes` at the buffer's start or one after the other.
double read_bandwidth(ReadLoop loop, const Buffer& buffer, std::int64_t bytes, int threads) {
  bytes = bytes / 1024 * 1024;
  const std::int64_t passes = std::max<std::int64_t>(1, (std::int64_t{4} << 20) / bytes);
  double best = 0;
  std::atomic<int> ready{0};
  std::vector<double> ends(static_cast<std::size_t>(threads)), starts(static_cast<std::size_t>(threads));
  for (int round = 0; round < rounds; ++round) {
    ready = 0;
    const auto work = [&](int thread) {
      const char* data = buffer.data() + thread * bytes;
      loop(data, bytes, 1);
      ++ready;
      while (ready.load() < threads) std::this_thread::yield();
      starts[static_cast<std::size_t>(thread)] = now_seconds();
      loop(data, bytes, passes);
      ends[static_cast<std::size_t>(thread)] = now_seconds();
    };
    std::vector<std::jthread> others;
    for (int thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
    work(0);
    others.clear();
    const double elapsed = *std::max_element(ends.begin(), ends.end()) - *std::min_element(starts.begin(), starts.end());
    best = std::max(best, static_cast<double>(bytes * passes * threads) / elapsed);
  }
  return best;
}

std::vector<rkernel::MemoryLevel> measure_levels(ReadLoop loop, int threads) {
  const std::int64_t l1 = cache_bytes(1, 32 << 10);
  const std::int64_t l2 = cache_bytes(2, 512 << 10);
  const std::int64_t l3 = std::max(cache_bytes(3, 8 << 20), 2 * l2);
  std::vector<rkernel::MemoryLevel> levels{{"L1", l1, {}}, {"L2", l2, {}}, {"L3", l3, {}}, {"DRAM", 0, {}}};
  const std::int64_t dram = std::clamp<std::int64_t>(3 * l3, 64 << 20, 256 << 20);
  const Buffer buffer(static_cast<std::size_t>(dram));
  for (int active = 1; active <= threads; ++active) {
    // Shared levels are read in parts, private ones by each thread for itself.
    levels[0].bandwidth.push_back(read_bandwidth(loop, buffer, l1 / 2, active));
    levels[1].bandwidth.push_back(read_bandwidth(loop, buffer, l2 / 2, active));
    levels[2].bandwidth.push_back(read_bandwidth(loop, buffer, std::max(l3 / 2 / active, l2 * 5 / 4), active));
    levels[3].bandwidth.push_back(read_bandwidth(loop, buffer, dram / active, active));
  }
  return levels;
}

// Cycles of one step of K: multiply-adds at two a cycle, their latency of four, loads at two a cycle.
double prior_cycles(const Isa& isa, const Tile& tile) {
  const double vectors = static_cast<double>(tile.columns) / isa.f32_lanes;
  return std::max({tile.rows * vectors / 2, 4.0, (tile.rows + vectors) / 2});
}

}  // namespace

std::vector<rkernel::TileSpeed> measure_tiles(const Isa& isa, const MainLoopTable& loops) {
  const Buffer a(1 << 20), b(1 << 20), c(1 << 20);
  const auto run = [&](std::size_t i) {
    const double start = now_seconds();
    for (int repeat = 0; repeat < 4; ++repeat) {
      loops.functions[i](reinterpret_cast<const float*>(a.data()), measured_depth, b.data(), isa.panel_f32,
                         measured_depth * isa.panel_f32, measured_depth, reinterpret_cast<float*>(c.data()), loops.tiles[i].columns, 0);
    }
    return (now_seconds() - start) / 4;
  };
  std::size_t standard = 0;
  for (std::size_t i = 0; i < loops.tiles.size(); ++i) {
    if (loops.tiles[i].columns == isa.panel_f32) standard = i;
  }
  double standard_seconds = 1e9;
  std::vector<std::vector<double>> ratios(loops.tiles.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < loops.tiles.size(); ++i) {
      run(i);
      const double beside = run(standard);
      ratios[i].push_back(run(i) / beside);
      standard_seconds = std::min(standard_seconds, beside);
    }
  }
  std::vector<rkernel::TileSpeed> speeds;
  for (std::size_t i = 0; i < loops.tiles.size(); ++i) {
    const Tile& tile = loops.tiles[i];
    std::sort(ratios[i].begin(), ratios[i].end());
    double ratio = ratios[i].front();
    // The spread of the better half: an interrupt may spoil some rounds, a noisy machine spoils most.
    if (ratios[i][rounds / 2] > ratio * (1 + largest_spread)) ratio = prior_cycles(isa, tile) / prior_cycles(isa, loops.tiles[standard]);
    speeds.push_back({tile.rows, tile.columns, ratio * standard_seconds / static_cast<double>(measured_depth)});
  }
  return speeds;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "x86-64 CPU";
}

rkernel::Machine measure_machine(const Isa& isa, int threads, const MainLoopTable& loops, CodeStore& store, rkernel::CompileReport& report) {
  rkernel::Machine machine;
  machine.name = cpu_name();
  machine.threads = threads;
  machine.vector_width = isa.f32_lanes;
  machine.panel = isa.panel_f32;
  const std::vector<KernelSource> sources{read_loop_source(isa)};
  const auto loop = reinterpret_cast<ReadLoop>(store.resolve(sources, 1, report).front());
  double start = now_seconds();
  machine.levels = measure_levels(loop, threads);
  report.machine_seconds += now_seconds() - start;
  start = now_seconds();
  machine.tiles = measure_tiles(isa, loops);
  report.measure_seconds += now_seconds() - start;
  double cycle = 1;
  for (const rkernel::TileSpeed& tile : machine.tiles) {
    cycle = std::min(cycle, tile.seconds_per_k * 2 * isa.f32_lanes / (static_cast<double>(tile.rows) * tile.columns));
  }
  // Cycles, from counting instructions of the generated code.
  constexpr double vector_operation_cycles = 0.75, call_cycles = 60, ticket_cycles = 300, wakeup_cycles = 4000;
  machine.seconds_per_vector_operation = vector_operation_cycles * cycle;
  machine.seconds_per_call = call_cycles * cycle;
  machine.seconds_per_ticket = ticket_cycles * cycle;
  machine.seconds_per_wakeup = wakeup_cycles * cycle;
  return machine;
}

}  // namespace dyn::cpu
