#include "src/choice/gpu/wave.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "src/choice/calibration/calibration.hpp"

namespace dyn::choice {
namespace {

constexpr double vector_bytes = 16;
constexpr double word_bytes = 4;
constexpr int mma_columns = 8;       ///< of an instruction whose factors are not swapped
constexpr double vector_floats = 4;  ///< of one load from shared memory
/// Elements that one thread loads before it waits for them, where it converts what it copies: 8
/// loads of 4 neighbours (TileCopy).
constexpr double loaded_elements = 8 * 4;

struct Sharing {
  double warps;     ///< of the wave, on one multiprocessor
  double per_warp;  ///< 1 / the share of arithmetic units and issue slots that a warp has: it
                    ///< cannot use another part's
};

Sharing sharing_of(const GpuTile& tile, int resident) {
  const double warps = static_cast<double>(resident) * tile.warps();
  return {warps, std::max(warps, partitions)};
}

// Instructions of one thread on CUDA cores for K = 1: multiply-adds, and loads of both fragments as
// vectors.
double step_instructions(const GpuTile& tile) {
  return tile.thread_m * tile.thread_n + (tile.thread_m + tile.thread_n) / vector_floats;
}

// One step of the registers' tile: of K = 1 for a thread's tile, of one instruction on tensor
// cores.
double instruction_cycles(const GpuMachine& machine, const GpuTile& tile, const Sharing& sharing,
                          double independent) {
  if (tile.engine == Engine::TensorCores) {
    const double multiply_adds = tile.thread_m * tile.thread_n * mma_depth(tile.operands);
    return std::max(multiply_adds * sharing.per_warp / mma_fma(machine, tile.operands),
                    default_calibration().gpu_mma_latency / independent);
  }
  const double multiply_adds = tile.thread_m * tile.thread_n;
  return std::max({warp_lanes * multiply_adds * sharing.per_warp / machine.f32_fma,
                   step_instructions(tile) * sharing.per_warp / partitions,
                   default_calibration().gpu_fma_latency});
}

bool copies_vectors(bool possible, double element_bytes, const GpuTile& tile) {
  return possible && element_bytes == static_cast<double>(size_of(tile.operands));
}
bool copies_vectors(const GpuContraction& shape, const GpuTile& tile) {
  return shape.a_operations == 0 && shape.b_operations == 0 &&
         copies_vectors(shape.a_vectors, shape.a_element_bytes, tile) &&
         copies_vectors(shape.b_vectors, shape.b_element_bytes, tile);
}

// An operand's elements, and how they are copied to shared memory.
struct CopiedFactor {
  double element_bytes, chunk_bytes;  ///< chunk_bytes: of a copy that converts nothing; 0: elements
};
CopiedFactor copied(bool vectors, bool words, double element_bytes, const GpuTile& tile) {
  const double chunk = copies_vectors(vectors, element_bytes, tile) ? vector_bytes
                       : copies_vectors(words, element_bytes, tile) ? word_bytes
                                                                    : 0;
  return {element_bytes, chunk};
}
CopiedFactor copied_a(const GpuContraction& shape, const GpuTile& tile) {
  return copied(shape.a_vectors, shape.a_words, shape.a_element_bytes, tile);
}
CopiedFactor copied_b(const GpuContraction& shape, const GpuTile& tile) {
  return copied(shape.b_vectors, shape.b_words, shape.b_element_bytes, tile);
}

// True if a factor is computed: its inputs are loaded while the block multiplies, and it is
// computed after that.
bool computes(const GpuContraction& shape) {
  return shape.a_operations > 0 || shape.b_operations > 0;
}

// Times that a thread waits for memory in each stage: once, or as often as it has no registers for
// more. A factor that is converted on its way waits in registers, and the block with it; strips and
// factors that are computed are there.
double waits_for_memory(const GpuContraction& shape, const GpuTile& tile) {
  const auto waits = [&](const CopiedFactor& factor) {
    return factor.chunk_bytes == 0 &&
           (size_of(tile.operands) != sizeof(float) || factor.element_bytes != sizeof(float));
  };
  double elements = 0;
  if (shape.a_strips == 0 && shape.a_operations == 0 && waits(copied_a(shape, tile)))
    elements += tile.block_m;
  if (shape.b_operations == 0 && waits(copied_b(shape, tile))) elements += tile.block_n;
  if (elements == 0) return 0;
  return std::max(1.0, elements * tile.block_k / (tile.threads() * loaded_elements));
}

// Instructions of the whole block to bring one stage to shared memory.
double copy_instructions(const GpuContraction& shape, const GpuTile& tile) {
  const Calibration& counted = default_calibration();
  const auto of = [&](const CopiedFactor& factor, double elements, bool windows, bool computes) {
    const double more = windows ? counted.gpu_window_copy_instructions
                        : computes && factor.chunk_bytes == vector_bytes
                            ? counted.gpu_address_instructions
                            : 0;
    if (factor.chunk_bytes == 0) return elements * (counted.gpu_element_copy_instructions + more);
    return elements * factor.element_bytes / factor.chunk_bytes *
           (counted.gpu_vector_copy_instructions + more);
  };
  const double a_elements = static_cast<double>(tile.block_m) * tile.block_k,
               b_elements = static_cast<double>(tile.block_n) * tile.block_k;
  const double of_a = shape.a_operations > 0 ? a_elements * shape.a_operations
                      : shape.a_strips > 0   ? a_elements * counted.gpu_strip_copy_instructions
                                             : of(copied_a(shape, tile), a_elements, shape.windows,
                                                  tile.computes_a_addresses());
  const double of_b = shape.b_operations > 0 ? b_elements * shape.b_operations
                                             : of(copied_b(shape, tile), b_elements, false,
                                                  tile.computes_b_addresses());
  return (of_a + of_b) / warp_lanes;
}

LayerTerms warp_terms(const GpuMachine& machine, const GpuTile& tile, const Sharing& sharing) {
  LayerTerms terms{.name = "warp"};
  const bool tensor = tile.engine == Engine::TensorCores;
  const double step_k = tensor ? mma_depth(tile.operands) : 1;
  const int row_steps = tile.warp_m / tile.thread_m, column_steps = tile.warp_n / tile.thread_n;
  terms.spatial_trips = tensor ? static_cast<double>(row_steps) * column_steps : 1;
  terms.reduction_trips = tile.block_k / step_k;
  // Fragments are read once for each step of K (on CUDA cores by each lane: what lanes share costs
  // as if they did not), and every byte that a stage brings is written once.
  const double iterations = terms.spatial_trips * terms.reduction_trips;
  const double rows_and_columns =
      tensor ? tile.warp_m + tile.warp_n : warp_lanes * (tile.thread_m + tile.thread_n);
  const double fragment_bytes =
      rows_and_columns * step_k * static_cast<double>(size_of(tile.operands)) / terms.spatial_trips;
  const double written_bytes =
      static_cast<double>(tile.a_stage_bytes() + tile.b_stage_bytes()) / tile.warps() / iterations;
  terms.load =
      (fragment_bytes + written_bytes) * sharing.warps / machine.shared_bytes / machine.clock_hz;
  return terms;
}

double warp_seconds(const GpuMachine& machine, const GpuTile& tile, const Sharing& sharing) {
  const LayerTerms terms = warp_terms(machine, tile, sharing);
  return layer_cost(
      terms, instruction_cycles(machine, tile, sharing, terms.spatial_trips) / machine.clock_hz,
      true);
}

// Instructions of one warp on tensor cores for a stage, beside copies: multiplications, loads of
// fragments, and what waits, arrives, and moves on.
double stage_instructions(const GpuTile& tile, bool windows) {
  const int rows = tile.warp_m / tile.thread_m, columns = tile.warp_n / tile.thread_n;
  // ldmatrix loads 16 rows of A, and 16 columns of B where elements have 1 or 2 bytes; bytes are
  // put in order then.
  const double of_column = size_of(tile.operands) == 4 ? 2 : tile.integers() ? 2.5 : 0.5;
  return static_cast<double>(tile.block_k) / mma_depth(tile.operands) *
             (rows * columns + rows + columns * of_column * tile.thread_n / mma_columns) +
         default_calibration().gpu_stage_instructions +
         (windows ? default_calibration().gpu_window_stage_instructions : 0);
}

// Issue slots that one stage of a block takes from its multiprocessor: the steps of its warps, and
// their parts of the copies.
double issue_cycles(const GpuContraction& shape, const GpuTile& tile) {
  const double of_warp = tile.engine == Engine::TensorCores
                             ? stage_instructions(tile, shape.windows)
                             : tile.block_k * step_instructions(tile);
  return (tile.warps() * of_warp + copy_instructions(shape, tile)) / partitions;
}

// The warps of a block run at once; they meet at a barrier for each stage. A block alone waits for
// the barrier and for its first fragments, if these are not loaded ahead, and for its copies to be
// issued; while it waits the other blocks of its multiprocessor work, as far as there are any.
LayerTerms block_terms(const GpuMachine& machine, const GpuContraction& shape, const GpuTile& tile,
                       const Sharing& sharing, int resident) {
  LayerTerms terms{.name = "block"};
  terms.parallel_trips = terms.units = tile.warps();
  const Sharing alone = sharing_of(tile, 1);
  const double copies = copy_instructions(shape, tile) / tile.warps() * alone.per_warp / partitions;
  const bool ahead = tile.ahead && copies_vectors(shape, tile);
  const double waits =
      ahead ? 0
            : default_calibration().gpu_barrier_latency + default_calibration().gpu_shared_latency;
  const double latency = machine.memory_latency_seconds;
  const double multiplies = warp_seconds(machine, tile, alone) + waits / machine.clock_hz;
  const double chain = (computes(shape) ? std::max(multiplies, latency) : multiplies) +
                       copies / machine.clock_hz + waits_for_memory(shape, tile) * latency;
  const double issue = resident * issue_cycles(shape, tile) / machine.clock_hz;
  terms.fixed = std::max(0.0, std::max(chain, issue) - warp_seconds(machine, tile, sharing));
  return terms;
}

// Strips come before the first stage: their latency, and the longer of their bytes and the
// instructions of their copies, of 4 bytes.
double strip_seconds(const GpuMachine& machine, const GpuContraction& shape, const GpuTile& tile,
                     const Sharing& sharing, double rows, double link) {
  if (shape.a_strips == 0) return 0;
  const Calibration& counted = default_calibration();
  const double bytes = rows * static_cast<double>(shape.k) * shape.a_strips * shape.a_element_bytes;
  const double instructions =
      bytes / word_bytes *
      (counted.gpu_vector_copy_instructions + counted.gpu_window_copy_instructions);
  const double issued =
      instructions / warp_lanes / tile.warps() * sharing.per_warp / partitions / machine.clock_hz;
  return machine.memory_latency_seconds + std::max(bytes / link, issued);
}

// Each band of outputs but the first waits for two more barriers, and for its first loads.
double band_seconds(const GpuMachine& machine, const GpuTile& tile) {
  return (tile.output_bands() - 1) *
         (2 * default_calibration().gpu_barrier_latency +
          default_calibration().gpu_shared_latency) /
         machine.clock_hz;
}

// The part of a tile's first latency that the outputs of the tile before hide; where windows are
// copied, less a barrier before their table is written anew.
double hidden_seconds(const GpuMachine& machine, const GpuContraction& shape,
                      const LayerTerms& shared) {
  const double barrier =
      shape.windows ? default_calibration().gpu_barrier_latency / machine.clock_hz : 0;
  return std::max(0.0, std::min(shared.fixed, shared.store) - barrier);
}

// How much one block moves for each row, column and output. The epilogue passes through shared
// memory, so that stores to memory are whole lines.
GpuBlockRates move_rates(const GpuMachine& machine, const GpuContraction& shape,
                         const GpuTile& tile, const Sharing& sharing, int resident) {
  const double link = machine.l2_bytes_per_cycle * machine.clock_hz / resident;  // of one block
  // stages - 1 of them are on their way at once: a stage takes at least its part of the latency
  // (Little's law).
  const bool runs_ahead = waits_for_memory(shape, tile) == 0 && !computes(shape);
  const double in_flight = runs_ahead ? std::max(1, tile.stages - 1) : 1;
  const double through_shared =
      2 * sizeof(float) * resident / machine.shared_bytes / machine.clock_hz;
  const double issued = shape.epilogue_operations / warp_lanes / tile.warps() * sharing.per_warp /
                        partitions / machine.clock_hz;
  const bool overlapped = tile.overlapped && copies_vectors(shape, tile);
  return {.row = shape.a_strips > 0 ? 0 : tile.block_k * shape.a_element_bytes / link,
          .column = tile.block_k * shape.b_element_bytes / link,
          .least_load =
              default_calibration().gpu_loaded_latency * machine.memory_latency_seconds / in_flight,
          .output = through_shared + std::max(shape.epilogue_bytes / link, issued),
          .bands = overlapped ? band_seconds(machine, tile) : 0,
          .most_hidden = overlapped ? machine.memory_latency_seconds : 0};
}

LayerTerms shared_terms(const GpuMachine& machine, const GpuContraction& shape, const GpuTile& tile,
                        const Sharing& sharing, int resident) {
  LayerTerms terms{.name = "shared"};
  const double rows = static_cast<double>(std::min<std::int64_t>(tile.block_m, shape.m));
  const double columns = static_cast<double>(std::min<std::int64_t>(tile.block_n, shape.n));
  const GpuBlockRates rates = move_rates(machine, shape, tile, sharing, resident);
  terms.reduction_trips = std::ceil(static_cast<double>(shape.k) / tile.block_k);
  terms.load = std::max(rows * rates.row + columns * rates.column, rates.least_load);
  terms.fixed = machine.memory_latency_seconds +
                strip_seconds(machine, shape, tile, sharing, rows,
                              machine.l2_bytes_per_cycle * machine.clock_hz / resident);
  terms.store = rows * columns * rates.output + rates.bands;
  return terms;
}

}  // namespace

GpuWave gpu_wave(const GpuMachine& machine, const GpuContraction& shape, const GpuTile& tile,
                 int resident) {
  const Sharing sharing = sharing_of(tile, resident);
  GpuWave wave;
  const LayerTerms warp = warp_terms(machine, tile, sharing);
  wave.instruction =
      instruction_cycles(machine, tile, sharing, warp.spatial_trips) / machine.clock_hz;
  wave.layers = {warp, block_terms(machine, shape, tile, sharing, resident),
                 shared_terms(machine, shape, tile, sharing, resident)};
  // Costs are homogeneous in these terms: a stage takes the factor's multiple.
  const double factor = measured_over_predicted(machine, tile, resident);
  wave.instruction *= factor;
  for (LayerTerms& terms : std::span(wave.layers).first(2)) {
    terms.load *= factor;
    terms.fixed *= factor;
  }
  wave.layers.back().load *= factor;
  if (tile.overlapped && copies_vectors(shape, tile))
    wave.hidden = hidden_seconds(machine, shape, wave.layers.back());
  double below = wave.instruction;
  for (std::size_t layer = 0; layer < wave.layers.size(); ++layer)
    wave.costs[layer] = below = layer_cost(wave.layers[layer], below, true);
  return wave;
}

GpuBlockRates block_rates(const GpuMachine& machine, const GpuContraction& form,
                          const GpuTile& tile, int resident) {
  const Sharing sharing = sharing_of(tile, resident);
  const double factor = measured_over_predicted(machine, tile, resident);
  GpuBlockRates rates = move_rates(machine, form, tile, sharing, resident);
  rates.stage = factor * layer_cost(block_terms(machine, form, tile, sharing, resident),
                                    warp_seconds(machine, tile, sharing), true);
  rates.row *= factor;
  rates.column *= factor;
  rates.least_load *= factor;
  return rates;
}

double shared_step_seconds(const GpuMachine& machine, const GpuTile& tile) {
  const LayerTerms warp = warp_terms(machine, tile, sharing_of(tile, 1));
  return warp.spatial_trips * warp.reduction_trips * warp.load;
}

LayerTerms traffic_terms(const GpuMachine& machine, const char* name, double bytes,
                         double bytes_per_second) {
  LayerTerms terms{.name = name};
  terms.spatial_trips = 0;
  terms.fixed = machine.memory_latency_seconds + bytes / bytes_per_second;
  return terms;
}

double steady_stage_seconds(const GpuWave& wave) {
  return std::max(wave.layers.back().load, wave.costs[wave.costs.size() - 2]);
}

}  // namespace dyn::choice
