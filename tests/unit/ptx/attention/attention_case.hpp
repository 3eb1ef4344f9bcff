#pragma once
// Fused attention by hand: a problem of given sizes, dtypes and strides, its operands with random
// values, and the results that plain loops in double expect.

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "targets/llvm/problem/kernel_source.hpp"
#include "targets/ptx/attention/emitter.hpp"
#include "tests/support/problems/problem_builder.hpp"

namespace dyn::ptx::testing {

enum class MaskForm : unsigned char {
  None,
  Keys,  ///< of each key, alike for all rows
  Rows,  ///< rows x keys, alike for all of the batch
  Full   ///< for every row of every head
};

/// output(b, g, m, n) = residual + bias(n) + attention; heads (b, g) of one b share keys and
/// values, or those of one g.
struct AttentionCase {
  choice::GpuAttentionTile tile;
  Copy q = Copy::Elements, k = Copy::Elements, v = Copy::Elements;
  DType dtype = DType::f32, mask_dtype = DType::f32, output = DType::f32;
  std::int64_t batch = 1, group = 1, m = 1, n = 1, keys = 1, d = 1;
  bool shared_outside = false;  ///< heads of one g share keys and values
  bool heads_as_rows = false;   ///< heads that share keys are rows of one tile
  bool causal = false;
  MaskForm mask = MaskForm::None;
  bool hides_rows = false;  ///< some rows of the mask are -inf as a whole
  bool hides_by_least =
      false;         ///< the least f32 stands for -inf: rows that see nothing share alike
  double scale = 0;  ///< 0: 1 / sqrt(d)
  /// Rows of one head lie `batch * group` (keys: `batch`) rows apart, as a projection leaves them.
  bool heads_inside = false;
  bool transposed_keys = false;  ///< stride 1 along the keys
  std::int64_t slack = 0;        ///< elements after each row
  std::int64_t offset = 0;       ///< of q, k and v, elements
  bool bias = false, residual = false;
  bool fixed_heads = false;   ///< n and d are known at load
  bool shares_rows = false;   ///< blocks may have parts of the keys
  choice::GpuKeyParts parts;  ///< that they do have, where `shares_rows`
  int blocks = 2;             ///< of the grid
};
std::string to_string(const AttentionCase& c);

/// How many heads share each key and value.
inline std::int64_t sharing_heads(const AttentionCase& c) {
  return c.shared_outside ? c.batch : c.group;
}
/// Rows of all tiles that have the same keys.
inline std::int64_t rows_of_tiles(const AttentionCase& c) {
  return c.heads_as_rows ? c.m * sharing_heads(c) : c.m;
}

/// Cuts the keys in parts of a random length.
void part_keys(AttentionCase& c, std::mt19937_64& random);

/// A case of random form and sizes, around those of its tile, whose operands are `dtype` in memory.
AttentionCase random_attention_case(const choice::GpuAttentionTile& tile, DType dtype,
                                    std::mt19937_64& random);

/// Axes b, g, m, n, keys, d of an operand's strides.
inline constexpr std::size_t attention_axes = 6;
struct AttentionOperand {
  DType dtype = DType::f32;
  std::int64_t offset = 0;
  std::array<std::int64_t, attention_axes> strides{};
  std::int64_t elements = 0;
  bool written = false;

  std::int64_t at(const std::array<std::int64_t, attention_axes>& index) const;
};

using Contents = std::vector<std::vector<std::uint8_t>>;  ///< of each operand's buffer

/// Sizes, offsets and strides are symbols, so that nothing is known before the launch.
struct BuiltAttention {
  explicit BuiltAttention(const AttentionCase& c);

  /// The kernel, with the key of GpuAttentionKernel's: cases of one form share their code. Lives no
  /// longer than this.
  codegen::KernelSource source() const;
  std::vector<std::int64_t> ints() const;
  std::int64_t tickets() const;
  /// GpuAttentionClass::heads.
  int heads() const { return shape_class.heads; }
  /// Bytes of the memory that the launch's blocks share; 0: there is none.
  std::size_t part_memory() const;

  const AttentionCase form;
  dyn::testing::ProblemBuilder builder{"attention"};
  std::vector<AttentionOperand> operands;
  int mask = -1, bias = -1, residual = -1, output = -1;
  GpuAttentionClass shape_class;

 private:
  int add(const AttentionOperand& operand);
  void add_matrices();
  void add_outputs();
};

/// Random, of both signs; the output has a pattern that no kernel writes.
Contents random_operands(const BuiltAttention& built, std::mt19937_64& random);

/// The largest error over its bound, where more than 1 is a defect; infinite where the kernel wrote
/// anything but the output's elements. Queries, keys and values are those that the tile's engine
/// multiplies. The bound of an output is the mean of |values| by the shares, times: the rounding of
/// shares (bf16 2^-8, f16 and TF32 2^-11, f32 none), 1e-5, and twice the error of its largest
/// score; then the rounding of the output's dtype.
double worst_attention_error(const BuiltAttention& built, const Contents& operands,
                             const std::vector<std::uint8_t>& output);

}  // namespace dyn::ptx::testing
