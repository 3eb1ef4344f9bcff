#include "targets/cpu/measure/block_speeds.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "src/base/bytes.hpp"
#include "src/base/crew.hpp"
#include "src/base/rounding.hpp"
#include "src/rkernel/tree/strategy.hpp"
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
             const std::vector<choice::BlockPlan>& plans, int threads, const TimedOperands& timed)
      : isa_(isa), loops_(loops), timed_(timed) {
    std::int64_t a = 1, b = 1, c = 1;
    bool together = false;
    for (const choice::BlockPlan& plan : plans) {
      const std::int64_t depth = plan.depths.empty() ? 1 : plan.depths.back();
      a = std::max(a, plan.block.rows * depth);
      b = std::max(b, std::max(plan.block.columns, timed.b_row) * depth_of_b(depth));
      c = std::max(c, plan.block.rows * plan.block.columns);
      together = together || plan.together;
    }
    // Main loops ask for lines beyond their operands.
    const auto bytes = [](std::int64_t floats) {
      return static_cast<std::size_t>(floats * float_bytes) + (1 << 16);
    };
    const int most = together ? std::min(threads, usable_processors()) : 1;
    for (int thread = 0; thread < most; ++thread)
      operands_.push_back(std::make_unique<Operands>(bytes(a), bytes(b), bytes(c)));
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
  MainLoop loop_of(int rows, int columns) const {
    const auto tile = std::ranges::find(loops_.tiles, Tile{rows, columns});
    return loops_.functions[static_cast<std::size_t>(tile - loops_.tiles.begin())];
  }

  /// Steps of K that B has room for.
  std::int64_t depth_of_b(std::int64_t depth) const {
    return round_up(depth, std::max(1, timed_.factors.block_steps()));
  }

  struct RightSide {
    const float* start;
    std::int64_t k_stride, panel_stride;
  };
  /// B from step `k` and column `n` on, of a block so deep.
  RightSide right_side(const Operands& own, std::int64_t depth, std::int64_t k,
                       std::int64_t n) const {
    const std::int64_t panel = isa_.panel_f32, panel_stride = depth_of_b(depth) * panel;
    const bool in_panels = timed_.b_row == 0;
    const std::int64_t before =
        in_panels ? n * depth_of_b(depth) + k * panel : k * timed_.b_row + n;
    const auto bytes =
        static_cast<std::ptrdiff_t>(static_cast<double>(before) * timed_.factors.step_bytes());
    return {reinterpret_cast<const float*>(own.b.data() + bytes), in_panels ? panel : timed_.b_row,
            in_panels ? panel_stride : panel};
  }

  // Rows of A lie one after the other, as deep as the whole reduction.
  void run(const choice::BlockKernel& block, std::int64_t depth, std::size_t thread) const {
    const Operands& own = *operands_[thread];
    const auto* a = reinterpret_cast<const float*>(own.a.data());
    auto* c = reinterpret_cast<float*>(own.c.data());
    const rkernel::Tiling rows = rkernel::tiling_of(block.rows, block.tile_rows);
    // Codes begin with a block.
    const std::int64_t step = block.depth > 0 ? std::min(depth_of_b(block.depth), depth) : depth;
    for (std::int64_t k = 0; k < depth; k += step) {
      for (std::int64_t n = 0; n < block.columns; n += block.tile_columns) {
        std::int64_t m = 0;
        for (const rkernel::Run& run : {rows.first, rows.second}) {
          if (run.count == 0) continue;
          const MainLoop loop = loop_of(static_cast<int>(run.tile), block.tile_columns);
          for (std::int64_t i = 0; i < run.count; ++i, m += run.tile) {
            const RightSide b = right_side(own, depth, k, n);
            loop(a + m * depth + k, depth, b.start, b.k_stride, b.panel_stride,
                 std::min(step, depth - k), c + m * block.columns + n, block.columns, k > 0 ? 1 : 0,
                 0, 0, 0);
          }
        }
      }
    }
  }

  double team_seconds(const choice::BlockKernel& block, std::int64_t depth, int threads,
                      int blocks) const {
    std::atomic<int> ready{0}, expected{threads};
    std::atomic<double> slowest{0};
    const auto work = [&](int number) {
      const auto thread = static_cast<std::size_t>(number);
      run(block, depth, thread);
      ready.fetch_add(1);
      while (ready.load() < expected.load()) std::this_thread::yield();
      const double start = now_seconds();
      for (int i = 0; i < blocks; ++i) run(block, depth, thread);
      const double seconds = now_seconds() - start;
      for (double known = slowest.load();
           known < seconds && !slowest.compare_exchange_weak(known, seconds);) {}
    };
    {
      Crew others(threads - 1, work);
      expected.store(others.close(Crew::patience) + 1);  // those that there are are measured
      work(0);
    }
    return slowest.load();
  }

  const codegen::Isa& isa_;
  const MainLoopTable& loops_;
  const TimedOperands timed_;
  std::vector<std::unique_ptr<Operands>> operands_;
};

}  // namespace

std::vector<BlockSpeed> measure_blocks(const codegen::Isa& isa, const MainLoopTable& loops,
                                       const std::vector<choice::BlockPlan>& plans, int threads,
                                       const TimedOperands& operands) {
  const BlockTimer timer(isa, loops, plans, threads, operands);
  std::vector<BlockSpeed> speeds;
  for (const choice::BlockPlan& plan : plans) {
    BlockSpeed& speed = speeds.emplace_back(BlockSpeed{plan});
    for (const std::int64_t depth : plan.depths) {
      speed.alone.push_back(timer.alone(plan.block, depth));
      if (plan.together)
        speed.together.push_back(timer.together(plan.block, depth, speed.alone.back()));
    }
  }
  return speeds;
}

}  // namespace dyn::cpu
