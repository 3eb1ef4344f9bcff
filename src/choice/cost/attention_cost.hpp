#pragma once
// Strategies of fused attention, what they cost, and the choice among them.

#include <functional>
#include <string>

#include "src/choice/cost/cost.hpp"

namespace dyn::choice {

/// How a block of scores is made. Panels: keys packed in panels, tiles of rows go through the main
/// loops. Dots: keys read once, as they lie; few rows do not repay the packing.
enum class ScoreForm : std::uint8_t { Panels, Dots };

/// Sizes and surroundings of one attention.
struct AttentionShape {
  std::int64_t batch = 1, queries = 0, keys = 0, depth = 0, value_depth = 0;
  bool causal = false, masked = false;
  bool keys_unit = true;               ///< keys lie with stride 1 along d: Dots are possible
  bool values_unit = true;             ///< values lie with stride 1 along n: read as they lie
  int key_bytes = 4, value_bytes = 4;  ///< of an element
  bool pairs = false;                  ///< by panels, products are of pairs of bf16
  bool fixed_order =
      false;  ///< the order of sums does not depend on the threads (Options::deterministic)
};

struct AttentionStrategy {
  ScoreForm form = ScoreForm::Panels;
  int tile_rows = 1, tile_columns = 1;  ///< of the main loops
  std::int64_t block_rows = 1;          ///< threads: queries of one ticket
  std::int64_t block_keys = 1;          ///< L2: keys between two updates of what is carried
  std::int64_t splits = 1;              ///< threads: parts of the keys, merged in a second stage
  bool operator==(const AttentionStrategy&) const = default;
};

/// The factors of a form's main loops.
rkernel::Factors factors_of(const AttentionShape& shape, ScoreForm form);

/// Predicted time on `threads` threads. `breakdown`, where given, receives every term.
double attention_cost(const Machine& machine, const AttentionShape& shape,
                      const AttentionStrategy& strategy, int threads,
                      CostBreakdown* breakdown = nullptr);

/// What orders the sums, and so decides the bits of a result: form, block_keys and splits, the
/// other members being left. It depends on the sizes of one element of the batch, on the machine's
/// lanes and on `threads` (not with fixed_order), neither on the batch nor on measured figures.
AttentionStrategy attention_order(const Machine& machine, const AttentionShape& shape, int threads);

/// Calls `visit` for every strategy of this shape that is worth a look, all of the same order.
void for_each_attention_strategy(const Machine& machine, const AttentionShape& shape,
                                 const AttentionStrategy& order, int threads,
                                 const std::function<void(const AttentionStrategy&)>& visit);

struct AttentionChoice {
  AttentionStrategy strategy;
  int threads = 1;
  double seconds = 0;
  int considered = 0;
};

/// Calls `visit` for everything that select_attention() considers, in its order.
void for_each_attention_choice(const Machine& machine, const AttentionShape& shape, int threads,
                               const std::function<void(const AttentionChoice&)>& visit);

/// The cheapest strategy and number of threads (1 or `threads`); ties go to the earlier candidate.
AttentionChoice select_attention(const Machine& machine, const AttentionShape& shape, int threads);

std::string to_string(const AttentionStrategy& strategy);

}  // namespace dyn::choice
