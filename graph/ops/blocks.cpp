// Numbers that lie in few bits, in blocks with a scale each.

#include <optional>

#include <fmt/format.h>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {
namespace {

constexpr DType code_dtypes[] = {DType::u8};

/// codes: [..., B, C], scales: [..., B], zeros: [..., B].
void infer_unpack_blocks(InferContext& context, std::vector<TensorType>& outputs) {
  constexpr std::size_t codes = 0, scales = 1, zeros = 2;
  require_dtype(context, codes, code_dtypes);
  require_dtype(context, scales, single_dtypes);
  require_min_rank(context, codes, 2);
  const TensorType packed = context.input(codes);
  const std::optional<std::int64_t> bytes = packed.dims.back().constant();
  if (!bytes || *bytes < 1)
    context.fail(fmt::format("unpack_blocks: {} must be a constant above 0",
                             dim_name(context, codes, packed.rank() - 1)));
  const std::int64_t bits = context.integer("bits");
  if (bits != 4 && bits != 8)
    context.fail(fmt::format("unpack_blocks: bits are {}, not 4 or 8", bits));
  const int rank = packed.rank() - 1;
  for (std::size_t input = scales; input < context.input_count(); ++input) {
    if (input == zeros) require_dtype(context, zeros, code_dtypes);
    require_rank(context, input, rank);
    for (int axis = 0; axis < rank; ++axis) {
      const auto place = static_cast<std::size_t>(axis);
      context.require_equal(packed.dims[place], context.input(input).dims[place],
                            dim_name(context, codes, axis), dim_name(context, input, axis));
    }
  }
  const Dim size = context.dim("size"),
            all = packed.dims[static_cast<std::size_t>(rank) - 1] * (*bytes * 8 / bits);
  require_at_least(context, size, 0, "size");
  context.require_less_equal(size, all, "size", "the blocks' elements");
  outputs[0] = {DType::f32, packed.dims};
  outputs[0].dims.pop_back();
  outputs[0].dims.back() = size;
}

}  // namespace

std::vector<OpDef> block_ops() {
  return {
      {OpId::UnpackBlocks,
       OpClass::Compound,
       2,
       3,
       1,
       {{"size", AttrKind::Dim, std::nullopt, "elements of the result's last axis"},
        {"bits", AttrKind::Integer, "4", "of a code: 4 or 8"}},
       infer_unpack_blocks,
       "(code - zero) * scale of codes of 4 bits, two in a byte, the first in its lower bits, "
       "or of bytes; arguments: codes, scales and, where they are not the middle everywhere, 8 "
       "or 128, zeros.",
       "codes: [..., B, C], each of the B blocks with a scale of [..., B], and a zero of [..., "
       "B]; the "
       "result is [..., size], without what the last block has beyond it.",
       "codes and zeros u8, zeros at most the greatest code, scales f32, f16 or bf16; the result "
       "is f32",
       "Sizes that do not fit each other; a C that is no constant; bits other than 4 and 8."}};
}

}  // namespace dyn::graph
