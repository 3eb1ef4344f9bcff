#pragma once
// A machine as the cost model sees it: numbers measured on it, and the model's constants.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dyn/dtype.hpp"
#include "src/choice/calibration/calibration.hpp"
#include "src/rkernel/problem/factors.hpp"

namespace dyn::choice {

/// One level of memory, nearest first.
struct MemoryLevel {
  std::string name;
  std::int64_t bytes = 0;         ///< capacity for one unit; the last level: unlimited (0)
  std::vector<double> bandwidth;  ///< bytes per second that 1, 2, ... threads read together
};

/// Layer 0, measured: one step of K of a rows x columns tile whose operands are in the nearest
/// memory.
struct TileSpeed {
  int rows = 0, columns = 0;
  double seconds_per_k = 0;
};

struct Machine {
  std::string name;
  int threads = 1;                          ///< units of the top layer
  int vector_width = 1;                     ///< f32 lanes
  int panel = 1;                            ///< columns of a packed panel
  double seconds_per_vector_operation = 0;  ///< throughput of a simple vector instruction
  double seconds_per_call = 0;              ///< of a main loop: call, first loads, last stores
  double seconds_per_ticket = 0;
  double seconds_per_wakeup = 0;  ///< until a second thread takes part in a stage
  std::vector<MemoryLevel> levels;
  std::vector<TileSpeed> tiles;  ///< sorted by columns, then rows; rows from 1 without gaps
  std::map<rkernel::Factors, std::vector<TileSpeed>>
      narrow_tiles;  ///< the same tiles over other factors than f32, where a model has such
  std::vector<int>
      dot_rows;  ///< by columns: the most rows of a tile whose lanes run along K; 0: there is none
  Calibration fitted = default_calibration();

  /// Bytes per second of one thread when `active` threads read from `level`.
  double bandwidth_per_thread(std::size_t level, int active) const {
    const std::vector<double>& figures = levels[level].bandwidth;
    const std::size_t index =
        std::min(static_cast<std::size_t>(std::max(active, 1)), figures.size()) - 1;
    return figures[index] / static_cast<double>(index + 1);
  }
  /// Index of the nearest level that holds `bytes`.
  std::size_t level_of(std::int64_t bytes) const {
    std::size_t level = 0;
    while (level + 1 < levels.size() && bytes > levels[level].bytes) ++level;
    return level;
  }
  /// The tile's speed over f32 where nothing was measured for these factors; nullptr where there is
  /// no such tile.
  const TileSpeed* find_tile(int rows, int columns, const rkernel::Factors& factors = {}) const;
  int most_rows(int columns) const;  ///< of the tiles with these columns; 0: none
  /// The rows of the largest of those that computes as much in a second as any; most_rows() where
  /// nothing was measured for these factors.
  int fastest_rows(int columns, const rkernel::Factors& factors) const;

 private:
  const std::vector<TileSpeed>& speeds_of(const rkernel::Factors& factors) const;
};

}  // namespace dyn::choice
