#pragma once
// Attention over heads, with masks by data and by place.

#include <cstdint>
#include <functional>
#include <optional>

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

/// Stands for minus infinity in a mask, so that a row without any key has numbers.
inline constexpr double unseen = -1e30;

/// q: [B, H, Sq, D], k: [B, H, Skv, D], v: [B, H, Skv, Dv].
struct AttentionOperands {
  TensorExpr q, k, v;
  double scale;
};

/// [B, S, H * D] as [B, H, S, D], and back.
TensorExpr split_heads(const TensorExpr& x, Dim heads);
TensorExpr joined_heads(const TensorExpr& x);
/// Each head of [B, H, S, D] as often as there are queries' heads for it.
TensorExpr repeated_heads(const TensorExpr& x, Dim heads);
/// 1 / sqrt(D) where the scale that the node gives is 0.
double scale_of(const TensorExpr& q, double given);

/// The place of each query among the keys, [.., Sq, 1], and of each key, [1, Skv].
struct TokenPlaces {
  TensorExpr query, key;
};

/// The places of the operands' tokens where the first query stands at 0.
TokenPlaces first_places(const AttentionOperands& of);

/// Which keys a query sees by their places.
struct Sight {
  bool is_causal = false;               ///< none behind its own place
  std::int64_t left = -1, right = -1;   ///< so many places before and behind its own; -1: all
  std::optional<TensorExpr> lengths{};  ///< the number of keys of each sample, [B, 1, 1, 1]

  bool is_all() const { return !is_causal && left < 0 && right < 0 && !lengths; }
};

/// True where a query sees a key; not for a sight of all.
TensorExpr seen_by_place(const TokenPlaces& at, const Sight& sight);
/// 0 where `seen` holds, and `hidden` elsewhere, to be added to scores.
TensorExpr bias_of_seen(const TensorExpr& seen, const AttentionOperands& of,
                        double hidden = unseen);
/// Either, or the sum of both.
std::optional<TensorExpr> both_biases(const std::optional<TensorExpr>& a,
                                      const std::optional<TensorExpr>& b);

/// What scores go through on their way to weights, each after the one before.
enum class Stage : std::int64_t { Products, Capped, Biased, Weights };

/// What an attention computes beside softmax(q * k^T * scale + bias) * v.
struct ScoreSteps {
  double softcap = 0;  ///< scores become cap * tanh(score / cap); 0: they stay
  std::optional<TensorExpr>
      sink{};           ///< of each head [1, H, 1, 1]: the score of a key without value
  bool clears = false;  ///< a row that sees no key is 0
  std::function<void(Stage, const TensorExpr&)> show{};  ///< gets the scores behind each stage

  bool are_none() const { return softcap == 0 && !sink && !show; }
};

/// [B, H, Sq, Dv]. `ends_together`: each query sees the keys up to its own place, where the last
/// query and the last key have the same.
TensorExpr attend(const AttentionOperands& of, const std::optional<TensorExpr>& bias,
                  bool ends_together, const ScoreSteps& steps);

}  // namespace dyn::onnx
