#include "src/choice/gpu/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/base/rounding.hpp"
#include "src/choice/calibration/calibration.hpp"
#include "src/choice/gpu/wave.hpp"
#include "src/rkernel/target/device.hpp"

namespace dyn::choice {
namespace {

constexpr int float_size = 4;
constexpr int alignment = 128;       ///< of tiles in shared memory
constexpr int tile_row_padding = 4;  ///< floats after a row of a tile on CUDA cores
/// Shared memory that one block should leave to another, where a smaller tile of keys can do so.
constexpr int preferred_shared_bytes = 100 * 1024;
/// Scores and accumulators of one thread, where fewer keys can make them fewer: 32, and 16. With 80
/// ptxas 13.0 spills (attention/ptxas_test).
constexpr int preferred_held = 72, most_held = 140;

int aligned(int bytes) { return static_cast<int>(round_up(bytes, alignment)); }

int tile_bytes(const GpuAttentionTile& tile, int rows, int columns) {
  const int padding = tile.engine == Engine::CudaCores ? tile_row_padding : 0;
  return aligned(rows * (columns + padding) * static_cast<int>(size_of(tile.operands)));
}

/// Rows, and parts of the keys.
struct Form {
  int warp_m, block_m, parts;
};

std::vector<Form> forms(Engine engine, int width) {
  if (engine == Engine::TensorCores) return {{16, 16, 4}, {16, 32, 2}, {16, 64, 1}, {16, 128, 1}};
  std::vector<Form> all{{4, 4, 4}, {8, 16, 2}, {8, 32, 1}};
  if (width <= 128) all.push_back({16, 64, 1});
  return all;
}

/// Scores and accumulators of one thread.
int held(const GpuAttentionTile& tile) {
  return tile.warp_m * (tile.part_keys + tile.width) / warp_lanes;
}

/// The two products of a tile of keys in so many steps, whose fragments are loaded while the step
/// before multiplies.
double steps_of(const GpuAttentionTile& tile) {
  constexpr int elements_of_step = 16;
  return static_cast<double>(tile.depth + tile.width) / elements_of_step;
}

/// One of these steps, and its part of the softmax.
double seconds_of_step(const GpuMachine& machine, const GpuAttentionTile& tile, double warps) {
  const double per_warp = std::max(warps, partitions);
  const double scores = static_cast<double>(tile.warp_m) * tile.part_keys;
  const double multiply_adds = scores * (tile.depth + tile.width);
  const double softmax =
      scores / warp_lanes * default_calibration().gpu_softmax_instructions * per_warp / partitions;
  if (tile.engine == Engine::CudaCores) {
    const double cycles = multiply_adds * per_warp / machine.f32_fma + softmax;
    return cycles / steps_of(tile) / machine.clock_hz;
  }
  const double rate = size_of(tile.operands) == 2 ? machine.f16_mma_fma : machine.tf32_mma_fma;
  return (multiply_adds * per_warp / rate + softmax) / steps_of(tile) / machine.clock_hz;
}

/// Fragments of queries, keys and values that a warp reads in one step, and its part of writing the
/// tiles.
LayerTerms step_terms(const GpuMachine& machine, const GpuAttentionTile& tile, double warps) {
  LayerTerms terms{.name = "warp"};
  const double size = static_cast<double>(size_of(tile.operands));
  double elements = static_cast<double>(tile.part_keys) * (tile.depth + tile.width) +
                    static_cast<double>(tile.warp_m) * tile.depth;
  if (tile.engine == Engine::CudaCores) {
    // Lanes that share a word are served at once; vectors of four take as many passes.
    elements = elements * 2 + 2.0 * tile.warp_m * tile.part_keys;
  }
  const double written = static_cast<double>(tile.key_bytes() + tile.value_bytes()) / tile.warps();
  terms.reduction_trips = steps_of(tile);
  terms.load = (elements * size + written) * warps / steps_of(tile) / machine.shared_bytes /
               machine.clock_hz;
  return terms;
}

double copy_instructions(const GpuAttention& shape, const GpuAttentionTile& tile) {
  const double elements = static_cast<double>(tile.block_keys()) * (tile.depth + tile.width);
  const Calibration& calibration = default_calibration();
  const double of_one = shape.vectors ? static_cast<double>(size_of(tile.operands)) / 16 *
                                            calibration.gpu_vector_copy_instructions
                                      : calibration.gpu_element_copy_instructions;
  return elements * of_one / warp_lanes;
}

/// Tiles of keys that a tile of rows sees, as a mean.
double seen_tiles(const GpuAttention& shape, const GpuAttentionTile& tile) {
  const double keys = static_cast<double>(shape.keys) * visible_share(shape);
  return std::max(1.0, std::ceil(keys / tile.block_keys()));
}

/// The loop over `tiles` tiles of keys of one block, `resident` of them on a multiprocessor.
LayerTerms keys_terms(const GpuMachine& machine, const GpuAttention& shape,
                      const GpuAttentionTile& tile, int resident, double tiles) {
  LayerTerms terms{.name = "shared"};
  const double link = machine.l2_bytes_per_cycle * machine.clock_hz / resident;
  const double block_rows = static_cast<double>(std::min<std::int64_t>(tile.block_m, shape.rows()));
  const double columns = static_cast<double>(std::min<std::int64_t>(tile.width, shape.width));
  const double stage = tile.block_keys() *
                       (static_cast<double>(shape.depth) * shape.key_element_bytes +
                        columns * shape.value_element_bytes + (shape.masked ? block_rows * 4 : 0));
  terms.reduction_trips = tiles;
  terms.load = std::max({stage / link,
                         copy_instructions(shape, tile) * resident / partitions / machine.clock_hz,
                         default_calibration().gpu_loaded_latency * machine.memory_latency_seconds /
                             std::max(1, tile.stages - 1)});
  // Elements that are not copied as vectors wait in registers, and the block with them.
  terms.exposed = shape.vectors ? 0 : 1;
  terms.fixed = machine.memory_latency_seconds +
                block_rows * static_cast<double>(shape.depth) * shape.query_element_bytes / link;
  const double outputs = block_rows * columns;
  const double through_shared =
      (1 + tile.parts) * float_size * outputs * resident / machine.shared_bytes / machine.clock_hz;
  const double issued =
      outputs * shape.epilogue_operations / warp_lanes * resident / partitions / machine.clock_hz;
  terms.store = through_shared + std::max(outputs * shape.epilogue_bytes / link, issued);
  return terms;
}

}  // namespace

// With so many scores and accumulators ptxas 13.0 spills nothing: attention/ptxas_test holds it to
// that.
int GpuAttentionTile::resident() const {
  constexpr int tensor_core_three = 40, cuda_core_three = 14, threads_of_three = 128;
  if (threads() > threads_of_three) return 1;
  return held(*this) <= (engine == Engine::TensorCores ? tensor_core_three : cuda_core_three) ? 3
                                                                                              : 2;
}

int GpuAttentionTile::registers() const {
  constexpr int of_multiprocessor = 65536, granule = 8, most = 255;
  return std::min(most, of_multiprocessor / (threads() * resident()) / granule * granule);
}

int GpuAttentionTile::query_bytes() const { return tile_bytes(*this, block_m, depth); }
int GpuAttentionTile::key_bytes() const { return tile_bytes(*this, block_keys(), depth); }
int GpuAttentionTile::value_bytes() const { return tile_bytes(*this, block_keys(), width); }
int GpuAttentionTile::share_bytes() const {
  return engine == Engine::TensorCores
             ? 0
             : aligned(block_m * (block_keys() + share_padding) * float_size);
}

int GpuAttentionTile::output_row_floats() const {
  return width + (engine == Engine::TensorCores ? 8 : 4);
}
int GpuAttentionTile::output_bytes() const {
  return aligned(block_m * output_row_floats() * float_size);
}
int GpuAttentionTile::statistic_bytes() const {
  return parts == 1 ? 0 : aligned(2 * parts * block_m * float_size);
}
int GpuAttentionTile::shared_bytes() const {
  const int loop = query_bytes() + stages * (key_bytes() + value_bytes()) + share_bytes();
  return std::max(loop, output_bytes() + statistic_bytes());
}

int GpuAttentionTile::part_bytes() const { return block_m * (width + 2) * float_size; }

std::string GpuAttentionTile::to_string() const {
  const bool tensor = engine == Engine::TensorCores;
  const std::string_view dtype = tensor && operands == DType::f32 ? "tf32" : name_of(operands);
  return fmt::format("{} {} cores {} rows, {} keys{}, depth {} and {}, {} warps, {} stages", dtype,
                     tensor ? "tensor" : "CUDA", block_m, block_keys(),
                     parts == 1 ? "" : fmt::format(" in {} parts", parts), depth, width, warps(),
                     stages);
}

int attention_room(std::int64_t size) {
  constexpr std::array rooms{32, 64, 96, 128, 192, 256};
  const auto* found =
      std::find_if(rooms.begin(), rooms.end(), [&](int room) { return size <= room; });
  return found == rooms.end() ? 0 : *found;
}

std::vector<GpuAttentionTile> gpu_attention_tiles(const GpuMachine& machine, DType operands,
                                                  bool allow_tf32, int depth, int width) {
  const bool tensor = size_of(operands) == 2 || allow_tf32;
  const Engine engine = tensor ? Engine::TensorCores : Engine::CudaCores;
  std::vector<GpuAttentionTile> tiles;
  const auto add = [&](const Form& form) {
    GpuAttentionTile tile{engine, operands,   form.warp_m, form.block_m,
                          64,     form.parts, depth,       width};
    if (form.parts > 1 || engine == Engine::CudaCores) tile.part_keys = 32;
    if (held(tile) > preferred_held) tile.part_keys = 32;
    if (held(tile) > most_held) tile.part_keys = 16;
    const int preferred = std::min(machine.shared_bytes_per_block, preferred_shared_bytes);
    while (tile.part_keys > 16 && tile.shared_bytes() > preferred) tile.part_keys /= 2;
    if (tile.shared_bytes() <= machine.shared_bytes_per_block) tiles.push_back(tile);
  };
  for (const Form& form : forms(engine, width)) add(form);
  if (tiles.empty()) add({tensor ? 16 : 8, 16, 1});
  return tiles;
}

double visible_share(const GpuAttention& shape) {
  if (!shape.causal || shape.keys == 0) return 1;
  return std::clamp(
      1 - static_cast<double>(shape.queries - 1) / (2 * static_cast<double>(shape.keys)), 0.0, 1.0);
}

namespace {

/// Tiles of rows, and blocks that compute them.
struct AttentionGrid {
  std::int64_t tiles = 0;  ///< of rows and columns
  double blocks = 0;       ///< those that see a key
  double steps = 0;        ///< tiles of keys of one block
  double parts = 1;        ///< of one tile, at most
  double part_bytes = 0;   ///< that a block leaves
};

AttentionGrid grid_of(const GpuAttention& shape, const GpuAttentionTile& tile,
                      const GpuKeyParts& parts) {
  AttentionGrid grid;
  grid.tiles =
      shape.batch * ceil_div(shape.rows(), tile.block_m) * ceil_div(shape.width, tile.width);
  grid.steps = seen_tiles(shape, tile);
  grid.blocks = static_cast<double>(grid.tiles);
  if (parts.count == 1) return grid;
  const auto span = static_cast<double>(parts.span);
  grid.blocks *= std::ceil(grid.steps / span);
  grid.steps = std::min(grid.steps, span);
  grid.parts = static_cast<double>(parts.count);
  grid.part_bytes = static_cast<double>(std::min<std::int64_t>(tile.block_m, shape.rows()) *
                                        (tile.width + 2) * float_size);
  return grid;
}

/// A block stores its part for the others and counts itself; the last one reads all maxima, then
/// all parts.
double sharing_seconds(const GpuMachine& machine, const AttentionGrid& grid, int resident) {
  if (grid.parts == 1) return 0;
  const double link = machine.l2_bytes_per_cycle * machine.clock_hz / resident;
  return (2 + 2 * std::ceil(grid.parts / merged_key_parts)) * machine.memory_latency_seconds +
         (1 + grid.parts) * grid.part_bytes / link;
}

}  // namespace

double gpu_attention_cost(const GpuMachine& machine, const GpuAttention& shape,
                          const GpuAttentionTile& tile, CostBreakdown* breakdown,
                          const GpuKeyParts& parts) {
  const AttentionGrid blocks = grid_of(shape, tile, parts);
  const int fitting =
      occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks;
  if (fitting == 0 || blocks.tiles == 0) return machine.launch_seconds;
  const int resident = static_cast<int>(
      std::min<double>(fitting, std::ceil(blocks.blocks / machine.multiprocessors)));
  const double warps = static_cast<double>(resident) * tile.warps();
  CostBreakdown terms;
  terms.register_tile = seconds_of_step(machine, tile, warps);
  LayerTerms grid{.name = "grid"};
  grid.parallel_trips = blocks.blocks;
  grid.units = static_cast<double>(machine.multiprocessors) * resident;
  grid.fixed = sharing_seconds(machine, blocks, resident);
  terms.layers = {step_terms(machine, tile, warps),
                  keys_terms(machine, shape, tile, resident, blocks.steps), grid};
  // A block alone waits for the barrier and for its first fragments in each step.
  terms.layers.front().fixed =
      (default_calibration().gpu_barrier_latency + default_calibration().gpu_shared_latency) /
      machine.clock_hz / resident;
  double seconds = terms.register_tile;
  for (const LayerTerms& layer : terms.layers) {
    seconds = layer_cost(layer, seconds, true);
    terms.costs.push_back(seconds);
  }
  const double rows = static_cast<double>(shape.batch * shape.rows()),
               keys = static_cast<double>(shape.batch * shape.keys);
  const double queries = rows * (static_cast<double>(shape.depth) * shape.query_element_bytes +
                                 static_cast<double>(shape.width) * shape.epilogue_bytes +
                                 (shape.masked ? 4.0 * static_cast<double>(shape.keys) : 0));
  const double key_bytes = keys * (static_cast<double>(shape.depth) * shape.key_element_bytes +
                                   static_cast<double>(shape.width) * shape.value_element_bytes);
  const double passes =
      static_cast<double>(ceil_div(shape.rows(), tile.block_m)) * visible_share(shape);
  const double left = 2 * blocks.blocks * blocks.part_bytes;
  for (const LayerTerms& bound :
       {traffic_terms(machine, "L2, all blocks", queries + key_bytes * passes + left,
                      machine.l2_bytes_per_second),
        traffic_terms(machine, "memory, all blocks", queries + key_bytes,
                      machine.memory_bytes_per_second)}) {
    terms.layers.push_back(bound);
    terms.costs.push_back(layer_cost(bound, 0, true));
    seconds = std::max(seconds, terms.costs.back());
  }
  terms.seconds = seconds + machine.launch_seconds;
  terms.tickets = blocks.tiles * parts.count;
  if (breakdown != nullptr) *breakdown = std::move(terms);
  return seconds + machine.launch_seconds;
}

GpuKeyChoice choose_key_parts(const GpuMachine& machine, const GpuAttention& shape,
                              const GpuAttentionTile& tile, bool may_share) {
  GpuKeyChoice best{{}, gpu_attention_cost(machine, shape, tile)};
  const std::int64_t tiles = grid_of(shape, tile, {}).tiles,
                     steps = ceil_div(shape.keys, tile.block_keys());
  if (!may_share || tiles == 0 || tiles > rkernel::most_counters || steps > most_shared_steps)
    return best;
  const std::int64_t fitting =
      occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks;
  const double worth = default_calibration().gpu_worth_sharing * best.seconds;
  GpuKeyParts before;
  for (std::int64_t of_each = 1; of_each <= 2 * fitting; ++of_each) {
    const std::int64_t wanted = of_each * machine.multiprocessors / tiles;
    if (wanted < 2 || steps < 2) continue;
    GpuKeyParts parts{0, ceil_div(steps, wanted)};
    parts.count = ceil_div(steps, parts.span);
    if (parts.count < 2 || parts == before) continue;
    before = parts;
    const double seconds = gpu_attention_cost(machine, shape, tile, nullptr, parts);
    if (seconds < std::min(best.seconds, worth)) best = {parts, seconds};
  }
  return best;
}

}  // namespace dyn::choice
