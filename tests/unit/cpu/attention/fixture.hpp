#pragma once
// Attention by hand: a problem of given sizes and layouts, run by the CPU target's kernel and by
// plain loops in double.

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "targets/cpu/attention/kernel.hpp"

namespace dyn::cpu::testing {

enum class MaskKind : std::uint8_t { None, ByKey, ByRowAndKey, ByRow, Reversed };

/// One random case.
struct AttentionCase {
  std::int64_t batch = 1, heads = 1, queries = 1, keys = 1, depth = 1, value_depth = 1;
  bool causal = false;
  bool by_token =
      false;  ///< q, k, v, result lie as [batch, token, head, d], else [batch, head, token, d]
  bool keys_shared = false;                         ///< all heads read the keys and values of one
  bool k_transposed = false, v_transposed = false;  ///< [..., d, key] and [..., n, key]
  MaskKind mask = MaskKind::None;
  double hidden = 0;                ///< share of -inf in the mask
  double scale = 0, magnitude = 1;  ///< of the problem; of the queries
};

std::string describe(const AttentionCase& c);

/// Chooses the strategy of a launch; the kernel's own choice where it is empty.
using ChooseStrategy = std::function<choice::AttentionStrategy(const choice::AttentionShape&)>;

/// The largest error of the kernel over the bound of rounding; more than 1 is a defect. Writes
/// outside of the output, and NaN at one side only, count as infinite. `spoil` may change the
/// inputs q, k, v, mask.
double run_attention(const AttentionCase& c, const codegen::Isa& isa, codegen::CodeStore& store,
                     std::mt19937_64& random, const ChooseStrategy& choose = {},
                     const std::function<void(std::vector<float>*)>& spoil = {});

/// The kernel's result for the random inputs of that seed.
std::vector<float> attention_output(const AttentionCase& c, const codegen::Isa& isa,
                                    codegen::CodeStore& store, std::uint64_t seed,
                                    const ChooseStrategy& choose);

}  // namespace dyn::cpu::testing
