// Normalisation of a sum, or of embeddings, and over groups of channels.

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/activations.hpp"
#include "src/import/onnx/parts/integers/quantization.hpp"
#include "src/import/onnx/parts/norms.hpp"

namespace dyn::onnx {
namespace {

/// The position of the sum among the outputs; those before it are moments, for training alone.
constexpr std::size_t sum_output = 3;

/// The input, what skips the layer before it, and a bias where there is one. A skip for all samples
/// may lack the batch.
TensorExpr skipped(NodeContext& node, std::size_t bias) {
  const TensorExpr x = input_expr(node, 0), skip = input_expr(node, 1);
  if (x.rank() != 2 && x.rank() != 3)
    node.fail(fmt::format("its input has {} dims, not 2 or 3", x.rank()));
  if (skip.rank() > x.rank())
    node.fail(fmt::format("its skip has {} dims, its input {}", skip.rank(), x.rank()));
  TensorExpr sum = x + skip;
  if (node.has(bias)) {
    node.require_rank(bias, 1);
    sum = sum + input_expr(node, bias);
  }
  node.give(sum.id(), sum_output);
  return sum;
}

std::optional<TensorExpr> optional_input(NodeContext& node, std::size_t input) {
  if (!node.has(input)) return std::nullopt;
  return input_expr(node, input);
}

constexpr double usual_epsilon = 1e-12;  // ContribOperators.md names none; the kernels have this

void convert_skip_layer_norm(NodeContext& node) {
  const TensorExpr sum = skipped(node, 4), factors = input_expr(node, 2);
  node.give(layer_norm(sum, factors, optional_input(node, 3), node.number("epsilon", usual_epsilon))
                .id());
}

void convert_skip_simplified_layer_norm(NodeContext& node) {
  const TensorExpr sum = skipped(node, 3), factors = input_expr(node, 2);
  node.give(rms_norm(sum, factors, node.number("epsilon", usual_epsilon)).id());
}

/// Where the inputs of EmbedLayerNormalization stand.
enum EmbedInput : std::size_t {
  Words,
  Segments,
  WordTable,
  PositionTable,
  SegmentTable,
  Factors,
  Summands,
  WordMask,
  Positions
};

/// Inputs of 8 bits in the order of WordTable .. Summands have their scales and their zero points
/// behind the mask.
constexpr std::size_t embed_scales = WordMask + 1, embed_zero_points = embed_scales + 5;

/// A table's rows at these ids, or a vector; as numbers where it holds integers.
TensorExpr embed_parameter(NodeContext& node, std::size_t input, bool is_quantized,
                           const std::optional<TensorExpr>& ids = {}) {
  node.require_rank(input, ids ? 2 : 1);
  const TensorExpr all = input_expr(node, input), x = ids ? gather(all, *ids, 0) : all;
  const std::size_t which = input - WordTable;
  return is_quantized ? as_numbers(x, embed_scales + which, embed_zero_points + which) : x;
}

/// The number of each sample's words that the mask lets through; 0 without a mask.
TensorExpr mask_index(NodeContext& node, const TensorExpr& words) {
  if (!node.has(WordMask))
    return expand({node, node.builder().integer(DType::i32, 0)}, {words.dims()[0]});
  node.require_rank(WordMask, 2);
  const TensorExpr counts = cast(equal(input_expr(node, WordMask), 1.0), DType::i32);
  return reduce("reduce_sum", counts, {1}, false);
}

void give_embed_layer_norm(NodeContext& node, bool is_quantized) {
  node.require_rank(Words, 2);
  const TensorExpr words = input_expr(node, Words);
  if (node.has(Segments) != node.has(SegmentTable))
    node.fail("segment_ids and segment_embedding come together");
  const bool has_positions = !is_quantized && node.has(Positions);
  const TensorExpr positions =
      has_positions ? input_expr(node, Positions) : range(node, words.dims()[1]);
  TensorExpr sum = embed_parameter(node, WordTable, is_quantized, words) +
                   embed_parameter(node, PositionTable, is_quantized, positions);
  if (node.has(Segments))
    sum = sum + embed_parameter(node, SegmentTable, is_quantized, input_expr(node, Segments));
  const TensorExpr factors = embed_parameter(node, Factors, is_quantized),
                   summands = embed_parameter(node, Summands, is_quantized);
  node.give(layer_norm(sum, factors, summands, node.number("epsilon", usual_epsilon)).id());
  if (node.wants(1)) node.give(mask_index(node, words).id(), 1);
  node.give(sum.id(), 2);
}

void convert_embed_layer_norm(NodeContext& node) { give_embed_layer_norm(node, false); }

void convert_quantized_embed_layer_norm(NodeContext& node) { give_embed_layer_norm(node, true); }

/// A factor and a summand for each channel, and silu where `activation` is 1.
void give_group_norm(NodeContext& node, const TensorExpr& x) {
  const std::int64_t activation = node.integer("activation", 0);
  if (activation != 0 && activation != 1)
    node.fail(fmt::format("its activation is {}, not 0 or 1", activation));
  const bool is_last = node.integer("channels_last", 1) != 0;
  const TensorExpr normal =
      reshape(group_normalized(x, node.integer("groups", 0), node.number("epsilon", 1e-5),
                               is_last ? Channels::Last : Channels::First),
              x.dims());
  const int axis = is_last ? x.rank() - 1 : 1;
  const TensorExpr result = normal * along(input_expr(node, 1), axis, x.rank()) +
                            along(input_expr(node, 2), axis, x.rank());
  node.give((activation == 1 ? swish(result, 1) : result).id());
}

void convert_channel_group_norm(NodeContext& node) { give_group_norm(node, input_expr(node, 0)); }

/// A skip of [N, C] has the same for each place of the image.
void convert_skip_group_norm(NodeContext& node) {
  constexpr std::size_t skip_input = 3, bias = 4;
  const TensorExpr x = input_expr(node, 0);
  if (x.rank() < 2) node.fail("its input needs a batch and channels");
  TensorExpr skip = input_expr(node, skip_input);
  const bool is_last = node.integer("channels_last", 1) != 0;
  const int axis = is_last ? x.rank() - 1 : 1;
  if (skip.rank() == 2) {
    Dims dims(static_cast<std::size_t>(x.rank()), node.dims().constant(1));
    dims.front() = skip.dims()[0];
    dims[static_cast<std::size_t>(axis)] = skip.dims()[1];
    skip = reshape(skip, dims);
  }
  TensorExpr sum = x + skip;
  if (node.has(bias)) sum = sum + along(input_expr(node, bias), axis, x.rank());
  node.give(sum.id(), 1);
  give_group_norm(node, sum);
}

}  // namespace

Family skip_normalization_operators() {
  return {{"SkipLayerNormalization", convert_skip_layer_norm, Halves::InF32},
          {"SkipSimplifiedLayerNormalization", convert_skip_simplified_layer_norm, Halves::InF32},
          {"EmbedLayerNormalization", convert_embed_layer_norm, Halves::InF32, WordTable},
          {"QEmbedLayerNormalization", convert_quantized_embed_layer_norm},
          {"GroupNorm", convert_channel_group_norm, Halves::InF32},
          {"SkipGroupNorm", convert_skip_group_norm, Halves::InF32}};
}

}  // namespace dyn::onnx
