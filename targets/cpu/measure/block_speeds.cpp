#include "targets/cpu/measure/block_speeds.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <system_error>
#include <thread>

#include "src/base/bytes.hpp"
#include "targets/cpu/measure/buffer.hpp"
#include "targets/cpu/x86/cpu_info.hpp"

namespace dyn::cpu {
namespace {

constexpr int runs_of_block = 4;

/// Operands of one thread, large enough for every block at every depth.
struct Operands {
  Operands(std::size_t a_bytes, std::size_t b_bytes, std::size_t c_bytes)
      : a(a_bytes), b(b_bytes), c(c_bytes) {}
  MeasureBuffer a, b, c;
};

class BlockTimer {
 public:
  BlockTimer(const codegen::Isa& isa, const MainLoopTable& loops,
             const std::vector<choice::BlockKernel>& blocks, int threads)
      : isa_(isa), loops_(loops) {
    std::int64_t rows = 1, columns = 1;
    for (const auto& block : blocks)
      rows = std::max(rows, block.rows), columns = std::max(columns, block.columns);
    // Main loops ask for lines beyond their operands.
    const auto bytes = [](std::int64_t floats) {
      return static_cast<std::size_t>(floats * float_bytes) + (1 << 16);
    };
    for (int thread = 0; thread < std::min(threads, usable_processors()); ++thread) {
      operands_.push_back(std::make_unique<Operands>(bytes(rows * measured_depths.back()),
                                                     bytes(columns * measured_depths.back()),
                                                     bytes(rows * columns)));
    }
  }

  double alone(const choice::BlockKernel& block, std::int64_t depth) const {
    run(block, depth, 0);
    double best = 1e9;
    for (int i = 0; i < runs_of_block; ++i) {
      const double start = now_seconds();
      run(block, depth, 0);
      best = std::min(best, now_seconds() - start);
    }
    return best;
  }

  // The slowest thread's mean over the same number of blocks, all begun together.
  double together(const choice::BlockKernel& block, std::int64_t depth,
                  double alone_seconds) const {
    const int threads = static_cast<int>(operands_.size());
    if (threads == 1) return alone_seconds;
    constexpr double long_enough = 100e-6;
    const int blocks = std::max(1, static_cast<int>(long_enough / alone_seconds));
    double best = 1e9;
    for (int i = 0; i < runs_of_block; ++i)
      best = std::min(best, team_seconds(block, depth, threads, blocks));
    return std::max(alone_seconds, best / blocks);
  }

 private:
  void run(const choice::BlockKernel& block, std::int64_t depth, std::size_t thread) const {
    const Tile tile{block.tile_rows, block.tile_columns};
    const auto index =
        static_cast<std::size_t>(std::ranges::find(loops_.tiles, tile) - loops_.tiles.begin());
    const MainLoop loop = loops_.functions[index];
    const Operands& own = *operands_[thread];
    const auto* a = reinterpret_cast<const float*>(own.a.data());
    const auto* b = reinterpret_cast<const float*>(own.b.data());
    auto* c = reinterpret_cast<float*>(own.c.data());
    for (std::int64_t n = 0; n < block.columns; n += block.tile_columns) {
      for (std::int64_t m = 0; m < block.rows; m += block.tile_rows) {
        loop(a + m * depth, depth, b + n * depth, isa_.panel_f32, depth * isa_.panel_f32, depth,
             c + m * block.columns + n, block.columns, 0, 0, 0);
      }
    }
  }

  double team_seconds(const choice::BlockKernel& block, std::int64_t depth, int threads,
                      int blocks) const {
    std::atomic<int> ready{0}, expected{threads};
    std::atomic<double> slowest{0};
    const auto work = [&](std::size_t thread) {
      run(block, depth, thread);
      ready.fetch_add(1);
      while (ready.load() < expected.load()) std::this_thread::yield();
      const double start = now_seconds();
      for (int i = 0; i < blocks; ++i) run(block, depth, thread);
      const double seconds = now_seconds() - start;
      for (double known = slowest.load();
           known < seconds && !slowest.compare_exchange_weak(known, seconds);) {}
    };
    std::vector<std::jthread> others;
    others.reserve(static_cast<std::size_t>(threads));
    try {
      for (int thread = 1; thread < threads; ++thread)
        others.emplace_back(work, static_cast<std::size_t>(thread));
    } catch (const std::system_error&) {  // the system refuses another thread: those that run are
                                          // measured
      expected.store(static_cast<int>(others.size()) + 1);
    }
    work(0);
    others.clear();
    return slowest.load();
  }

  const codegen::Isa& isa_;
  const MainLoopTable& loops_;
  std::vector<std::unique_ptr<Operands>> operands_;
};

}  // namespace

double at_depth(const DepthSeconds& seconds, std::int64_t depth) {
  const auto above = std::ranges::lower_bound(measured_depths, depth);
  const auto right = std::clamp<std::ptrdiff_t>(
      above - measured_depths.begin(), 1, static_cast<std::ptrdiff_t>(measured_depths.size()) - 1);
  const auto r = static_cast<std::size_t>(right), l = r - 1;
  const double slope =
      (seconds[r] - seconds[l]) / static_cast<double>(measured_depths[r] - measured_depths[l]);
  return std::max(0.0, seconds[l] + slope * static_cast<double>(depth - measured_depths[l]));
}

std::vector<BlockSpeed> measure_blocks(const codegen::Isa& isa, const MainLoopTable& loops,
                                       const std::vector<choice::BlockKernel>& blocks,
                                       int threads) {
  const BlockTimer timer(isa, loops, blocks, threads);
  std::vector<BlockSpeed> speeds;
  for (const choice::BlockKernel& block : blocks) {
    BlockSpeed& speed = speeds.emplace_back(BlockSpeed{block, {}, {}});
    for (std::size_t i = 0; i < measured_depths.size(); ++i) {
      speed.alone[i] = timer.alone(block, measured_depths[i]);
      speed.together[i] = timer.together(block, measured_depths[i], speed.alone[i]);
    }
  }
  return speeds;
}

}  // namespace dyn::cpu
