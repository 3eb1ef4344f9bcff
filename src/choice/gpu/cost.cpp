#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "src/base/rounding.hpp"
#include "src/choice/calibration/calibration.hpp"
#include "src/choice/gpu/wave.hpp"

namespace dyn::choice {
namespace {

constexpr double lanes_issued_per_cycle = 128;  ///< by the four schedulers of a multiprocessor

struct Blocks {
  std::int64_t m, n, all;
};

// One region of a program, with its blocks.
struct Part {
  const GpuPart& region;
  Blocks blocks;
};

Blocks blocks_of(const GpuContraction& shape, const GpuTile& tile) {
  const std::int64_t m = ceil_div(shape.m, tile.block_m), n = ceil_div(shape.n, tile.block_n);
  return {m, n, shape.batch * m * n};
}

// How often B is read from memory: once where L2 keeps it, else again for each raster_rows of
// blocks, but no more often than there are waves.
double b_passes(const GpuMachine& machine, const Part& part, int resident) {
  const GpuContraction& shape = part.region.shape;
  const double b_matrix =
      static_cast<double>(shape.n) * static_cast<double>(shape.k) * shape.b_element_bytes;
  if (b_matrix <= default_calibration().gpu_l2_share * static_cast<double>(machine.l2_bytes))
    return 1;
  const double waves = std::ceil(static_cast<double>(part.blocks.m * part.blocks.n) /
                                 (static_cast<double>(machine.multiprocessors) * resident));
  return std::min(waves, static_cast<double>(ceil_div(part.blocks.m, raster_rows)));
}

// Memory that must be read and written: outputs, each operand once, and what L2 cannot keep again
// for each pass, and for each region that needs it.
double memory_bytes(const GpuMachine& machine, std::span<const Part> parts, int resident) {
  double total = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [shape, tile, m_begin, n_begin, split] = parts[i].region;
    const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
                 k = static_cast<double>(shape.k);
    const double a_matrix = m * k * shape.a_element_bytes / shape.a_overlap,
                 b_matrix = n * k * shape.b_element_bytes;
    const auto kept = [&](double bytes) {
      return bytes <= default_calibration().gpu_l2_share * static_cast<double>(machine.l2_bytes);
    };
    const bool a_again = i > 0 && m_begin == parts[i - 1].region.m_begin && kept(a_matrix);
    const bool b_again = i > 0 && n_begin == parts[i - 1].region.n_begin && kept(b_matrix);
    const double batch = static_cast<double>(shape.batch);
    total += batch * ((a_again ? 0 : a_matrix) +
                      (b_again ? 0 : b_matrix * b_passes(machine, parts[i], resident)) +
                      m * n * shape.epilogue_bytes);
  }
  return total;
}

double l2_bytes(std::span<const Part> parts) {
  double total = 0;
  for (const Part& part : parts) {
    const GpuContraction& shape = part.region.shape;
    const double batch = static_cast<double>(shape.batch), m = static_cast<double>(shape.m),
                 n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
    const double a_share = shape.a_strips > 0 ? shape.a_strips : 1;
    total += batch * (a_share * m * k * shape.a_element_bytes * static_cast<double>(part.blocks.n) +
                      n * k * shape.b_element_bytes * static_cast<double>(part.blocks.m) +
                      m * n * shape.epilogue_bytes);
  }
  return total;
}

// Tickets of a place that one block at a time has on the GPU; places take them round robin, wave
// after wave, those of the first region first.
struct PlaceTickets {
  std::int64_t first = 0, second = 0;  ///< of each region, in full waves
  std::optional<std::size_t> last;     ///< the region of the one in the last wave
};

// A wave's seconds are those of blocks of one tile; places of both in one wave share a
// multiprocessor as if all were alike.
class Schedule {
 public:
  Schedule(const GpuMachine& machine, std::span<const Part> parts, int fitting)
      : machine_(machine),
        parts_(parts),
        fitting_(fitting),
        wave_blocks_(std::int64_t{machine.multiprocessors} * fitting) {
    for (const Part& part : parts) all_ += part.blocks.all - part.region.split.tiles;
    const GpuPart& only = parts.front().region;
    if (parts.size() > 1 || only.split.tiles == 0) return;
    sharing_ = sharing_of(only);
  }

  std::int64_t tickets() const { return all_ + sharing_.blocks; }
  /// Partial sums, written and read.
  double shared_bytes() const {
    return 2 * sharing_.bytes *
           static_cast<double>(sharing_.blocks + parts_.front().region.split.tiles);
  }

  // The place that ends last. Places differ by whether they have one more ticket of the first
  // region, and of all.
  double longest(CostBreakdown* breakdown) const {
    if (sharing_.blocks > 0) return of_sharing(breakdown);
    const std::int64_t first_rest = parts_.front().blocks.all % wave_blocks_,
                       last = all_ % wave_blocks_;
    double most = -1;
    for (const std::int64_t place : {std::int64_t{0}, first_rest, last}) {
      if (place >= std::min(all_, wave_blocks_)) continue;
      CostBreakdown parts;
      const double seconds = of(at(place), breakdown != nullptr ? &parts : nullptr);
      if (seconds <= most) continue;
      most = seconds;
      if (breakdown != nullptr) *breakdown = std::move(parts);
    }
    return most;
  }

 private:
  // Blocks that share tiles.
  struct Sharing {
    std::int64_t blocks = 0;
    std::int64_t tiles = 0;  ///< of one block, at most
    std::int64_t parts = 0;  ///< of one tile, at most
    double bytes = 0;        ///< of the sums of a tile
  };
  static Sharing sharing_of(const GpuPart& region) {
    const std::int64_t steps = ceil_div(region.shape.k, region.tile.block_k),
                       span = region.split.span;
    const bool even = steps % span == 0;
    return {region.split.blocks(steps), even ? 1 : (span + steps - 2) / steps + 1,
            ceil_div(steps, span) + (even ? 0 : 1),
            static_cast<double>(sizeof(float)) * region.tile.block_m * region.tile.block_n};
  }

  // Whole tiles wave after wave, then those that are shared. A block that ends a part and begins
  // another fills its pipeline anew; the last one of a tile reads the sums of all.
  double of_sharing(CostBreakdown* breakdown) const {
    const GpuPart& region = parts_.front().region;
    double seconds = all_ > 0 ? of({all_ / wave_blocks_, 0, {}}, breakdown) : 0;
    GpuContraction shape = region.shape;
    shape.k = region.split.span * region.tile.block_k;
    const int resident = static_cast<int>(
        std::min<std::int64_t>(fitting_, ceil_div(sharing_.blocks, machine_.multiprocessors)));
    const GpuWave wave = gpu_wave(machine_, shape, region.tile, resident);
    const double link = machine_.l2_bytes_per_cycle * machine_.clock_hz / resident;
    LayerTerms grid{.name = "grid, shared tiles"};
    grid.parallel_trips = static_cast<double>(sharing_.blocks);
    grid.units = static_cast<double>(machine_.multiprocessors) * resident;
    grid.fixed = static_cast<double>(sharing_.tiles) *
                     (2 * machine_.memory_latency_seconds + sharing_.bytes / link) +
                 static_cast<double>(sharing_.parts) * sharing_.bytes / link -
                 (all_ > 0 ? wave.hidden : 0);
    const double cost = layer_cost(grid, wave.seconds(), true);
    if (breakdown != nullptr) {
      if (breakdown->layers.empty()) {
        breakdown->register_tile = wave.instruction;
        breakdown->layers.assign(wave.layers.begin(), wave.layers.end());
        breakdown->costs.assign(wave.costs.begin(), wave.costs.end());
      }
      breakdown->layers.push_back(grid);
      breakdown->costs.push_back(cost);
    }
    return seconds + cost;
  }

  PlaceTickets at(std::int64_t place) const {
    const std::int64_t full_waves = all_ / wave_blocks_, first_tickets = parts_.front().blocks.all;
    PlaceTickets tickets;
    const std::int64_t of_first =
        first_tickets / wave_blocks_ + (place < first_tickets % wave_blocks_ ? 1 : 0);
    tickets.first = std::min(of_first, full_waves);
    tickets.second = full_waves - tickets.first;
    if (place < all_ % wave_blocks_) tickets.last = of_first > full_waves ? 0 : parts_.size() - 1;
    return tickets;
  }

  // Vortex, equation 4: F_parallel = ceil(blocks / (multiprocessors * occupancy)). The last wave,
  // where it is not full, has its own occupancy, and so its own cost: fewer blocks than the GPU can
  // hold spread over its multiprocessors.
  double of(const PlaceTickets& tickets, CostBreakdown* breakdown) const {
    double seconds = 0;
    // `follows`: another wave of the same region comes before.
    const auto add_waves = [&](const char* name, const Part& part, std::int64_t count, int resident,
                               bool follows) {
      const GpuWave wave = gpu_wave(machine_, part.region.shape, part.region.tile, resident);
      LayerTerms grid{.name = name};
      grid.parallel_trips = static_cast<double>(count);
      grid.units = static_cast<double>(machine_.multiprocessors) * resident;
      const double waves = std::ceil(grid.parallel_trips / grid.units);
      grid.fixed = -wave.hidden * (follows ? 1 : (waves - 1) / waves);
      const double cost = layer_cost(grid, wave.seconds(), true);
      seconds += cost;
      if (breakdown == nullptr) return;
      if (breakdown->layers.empty()) {
        breakdown->register_tile = wave.instruction;
        breakdown->layers.assign(wave.layers.begin(), wave.layers.end());
        breakdown->costs.assign(wave.costs.begin(), wave.costs.end());
      }
      breakdown->layers.push_back(grid);
      breakdown->costs.push_back(cost);
    };
    const bool pair = parts_.size() > 1;
    if (tickets.first > 0)
      add_waves(pair ? "grid, first region" : "grid", parts_.front(), tickets.first * wave_blocks_,
                fitting_, false);
    if (tickets.second > 0)
      add_waves("grid, second region", parts_.back(), tickets.second * wave_blocks_, fitting_,
                false);
    if (tickets.last) {
      const std::int64_t count = all_ % wave_blocks_;
      const int resident = static_cast<int>(
          std::min<std::int64_t>(fitting_, ceil_div(count, machine_.multiprocessors)));
      add_waves(pair || tickets.first > 0 ? "grid, last wave" : "grid", parts_[*tickets.last],
                count, resident, (pair && *tickets.last == 1 ? tickets.second : tickets.first) > 0);
    }
    return seconds;
  }

  const GpuMachine& machine_;
  std::span<const Part> parts_;
  int fitting_;
  std::int64_t wave_blocks_, all_ = 0;  ///< all_: tickets that have whole tiles
  Sharing sharing_;
};

}  // namespace

Occupancy program_occupancy(const GpuMachine& machine, std::span<const GpuTile> tiles) {
  int threads = 0, registers = 0, shared_bytes = 0;
  for (const GpuTile& tile : tiles) {
    threads = std::max(threads, tile.threads());
    registers = std::max(registers, tile.registers());
    shared_bytes = std::max(shared_bytes, tile.shared_bytes());
  }
  return occupancy(machine, threads, registers, shared_bytes);
}

double gpu_program_cost(const GpuMachine& machine, std::span<const GpuPart> regions,
                        CostBreakdown* breakdown) {
  std::vector<Part> parts;
  std::vector<GpuTile> tiles;
  for (const GpuPart& region : regions) {
    tiles.push_back(region.tile);
    if (const Blocks blocks = blocks_of(region.shape, region.tile); blocks.all > 0)
      parts.push_back({region, blocks});
  }
  const int fitting = program_occupancy(machine, tiles).blocks;
  if (fitting == 0 || parts.empty()) return machine.launch_seconds;
  CostBreakdown terms;
  const Schedule schedule(machine, parts, fitting);
  double seconds = schedule.longest(breakdown != nullptr ? &terms : nullptr);
  const auto bound = [&](const LayerTerms& traffic) {
    const double cost = layer_cost(traffic, 0, true);
    seconds = std::max(seconds, cost);
    terms.layers.push_back(traffic);
    terms.costs.push_back(cost);
  };
  bound(traffic_terms(machine, "L2, all blocks", l2_bytes(parts) + schedule.shared_bytes(),
                      machine.l2_bytes_per_second));
  bound(traffic_terms(machine, "memory, all blocks", memory_bytes(machine, parts, fitting),
                      machine.memory_bytes_per_second));
  terms.seconds = seconds + machine.launch_seconds;
  terms.tickets = schedule.tickets();
  if (breakdown != nullptr) *breakdown = std::move(terms);
  return seconds + machine.launch_seconds;
}

double gpu_contraction_cost(const GpuMachine& machine, const GpuContraction& shape,
                            const GpuTile& tile, CostBreakdown* breakdown) {
  const GpuPart whole{shape, tile};
  return gpu_program_cost(machine, {&whole, 1}, breakdown);
}

double gpu_loop_cost(const GpuMachine& machine, double elements, double bytes,
                     double operations_per_element, std::int64_t blocks, int threads) {
  if (blocks <= 0) return machine.launch_seconds;
  const int fitting = std::max(
      1, occupancy(machine, threads, static_cast<int>(default_calibration().gpu_loop_registers), 0)
             .blocks);
  const double per_multiprocessor = static_cast<double>(ceil_div(blocks, machine.multiprocessors));
  const double waves = std::ceil(per_multiprocessor / fitting);
  const double resident_warps =
      std::min<double>(fitting, per_multiprocessor) * threads / warp_lanes;
  const double block_share =
      per_multiprocessor /
      static_cast<double>(blocks);  // of all the work, on the multiprocessor that has most
  const double lanes_per_cycle =
      lanes_issued_per_cycle * std::min(1.0, resident_warps / partitions);
  const double issue =
      elements * operations_per_element * block_share / lanes_per_cycle / machine.clock_hz;
  const double link = bytes * block_share / (machine.l2_bytes_per_cycle * machine.clock_hz);
  return machine.launch_seconds + waves * machine.memory_latency_seconds +
         std::max({bytes / machine.memory_bytes_per_second, issue, link});
}

}  // namespace dyn::choice
