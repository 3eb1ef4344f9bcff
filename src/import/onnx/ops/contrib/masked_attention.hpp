#pragma once
// What ONNX Runtime's attention operators share: masks of several forms, and projected heads.

#include <limits>

#include "src/import/onnx/parts/attention.hpp"

namespace dyn::onnx {

/// The attribute's number of heads; fails where it is less than 1.
Dim head_count(NodeContext& node, const char* attribute);

/// Stands for an input that an operator does not have.
inline constexpr std::size_t no_input = std::numeric_limits<std::size_t>::max();

/// The inputs from which a bias of the scores follows.
///
/// A mask is [B]: the number of each sample's keys; [2 * B], where `has_starts`: the same, and
/// behind them the first key of each; [B, Skv]; [B, Sq, Skv]; or [B, 1, M, M], of which the rows
/// from the first query's place on and the first Skv columns count. What it hides gets the node's
/// mask_filter_value.
struct MaskInputs {
  std::size_t mask, bias;
  bool has_starts = false;
};

/// The attention that the inputs mask, causal where the node is unidirectional. `past` is the
/// number of keys before the first query's own.
TensorExpr masked_attention(NodeContext& node, const MaskInputs& inputs,
                            const AttentionOperands& of, Dim past, const ScoreSteps& steps = {});

/// Attention by queries, keys and values that stand one behind the other in the last axis of
/// `projected`, [B, S, D + D + Dv], as outputs 0 and 1 of the node: [B, S, Dv], and the present
/// [2, B, H, P + S, D / H]. Input `past` is [2, B, H, P, D / H], where there is one.
void give_projected_attention(NodeContext& node, const TensorExpr& projected,
                              const MaskInputs& inputs, std::size_t past);

}  // namespace dyn::onnx
