#include "tests/unit/ptx/attention/attention_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "src/base/rounding.hpp"
#include "targets/llvm/problem/structure_key.hpp"
#include "targets/ptx/attention/tree.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/sharing/part_memory.hpp"
#include "tests/support/half.hpp"

namespace dyn::ptx::testing {
namespace {

using rkernel::ExprOp;
using Index = std::array<std::int64_t, attention_axes>;

enum AxisOfAttention : std::uint8_t { in_batch, in_group, in_m, in_n, in_keys, in_d };

constexpr std::uint8_t untouched = 0xA5;
constexpr double infinity = std::numeric_limits<double>::infinity();
/// Exporters hide keys with this.
constexpr double least = std::numeric_limits<float>::lowest();

/// Rows of `heads` matrices, each of `rows` x `columns`.
struct Rows {
  std::int64_t head, row, column, elements;
};
Rows rows_of(const AttentionCase& c, std::int64_t heads, std::int64_t rows, std::int64_t columns,
             bool transposed) {
  const std::int64_t inner = (transposed ? rows : columns) + c.slack,
                     outer = transposed ? columns : rows;
  Rows made{outer * inner, inner, 1, c.offset + heads * outer * inner};
  if (c.heads_inside) made = {inner, heads * inner, 1, made.elements};
  if (transposed) std::swap(made.row, made.column);
  return made;
}

double read(const std::vector<std::uint8_t>& buffer, DType dtype, std::int64_t index) {
  const std::uint8_t* at = buffer.data() + index * static_cast<std::int64_t>(size_of(dtype));
  if (dtype == DType::f32) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return dyn::testing::half_value(dtype, bits);
}

void write(std::vector<std::uint8_t>& buffer, DType dtype, std::int64_t index, double value) {
  std::uint8_t* at = buffer.data() + index * static_cast<std::int64_t>(size_of(dtype));
  if (dtype == DType::f32) {
    const auto single = static_cast<float>(value);
    std::memcpy(at, &single, sizeof single);
    return;
  }
  const std::uint16_t bits = dyn::testing::half_bits(dtype, value);
  std::memcpy(at, &bits, sizeof bits);
}

/// As the engine multiplies it.
double multiplied(const choice::GpuAttentionTile& tile, double value) {
  constexpr std::uint32_t ignored_by_tf32 = 0x1fff;
  if (tile.operands != DType::f32)
    return dyn::testing::half_value(tile.operands, dyn::testing::half_bits(tile.operands, value));
  if (tile.engine == choice::Engine::CudaCores) return value;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) &
                              ~ignored_by_tf32);
}

double rounding_of_shares(const choice::GpuAttentionTile& tile) {
  if (tile.engine == choice::Engine::CudaCores) return 0;
  return tile.operands == DType::bf16 ? 0x1p-8 : 0x1p-11;
}

double rounding_of(DType dtype) {
  return dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f16 ? 0x1p-11 : 0x1p-22;
}

/// One row of shares, and the most that any of its scores may be wrong by.
struct RowShares {
  std::vector<double> shares;
  double score_error = 0;
};

class Expectation {
 public:
  Expectation(const BuiltAttention& built, const Contents& contents)
      : built_(built), c_(built.form), contents_(contents) {}

  RowShares shares_of(Index index) const {
    RowShares row;
    double largest = -infinity;
    for (index[in_keys] = 0; index[in_keys] < c_.keys; ++index[in_keys]) {
      const bool hidden = c_.causal && index[in_keys] > index[in_m] + c_.keys - c_.m;
      row.shares.push_back(hidden ? -infinity : score(index, row.score_error));
      largest = std::max(largest, row.shares.back());
    }
    double sum = 0;
    for (double& share : row.shares) {
      share = largest == -infinity ? 0 : std::exp(share - largest);
      sum += share;
    }
    for (double& share : row.shares) share = sum == 0 ? 0 : share / sum;
    return row;
  }

  double error_at(Index index, const RowShares& row, double got) const {
    double expected = 0, magnitude = 0;
    for (index[in_keys] = 0; index[in_keys] < c_.keys; ++index[in_keys]) {
      const double value = factor(2, index),
                   share = row.shares[static_cast<std::size_t>(index[in_keys])];
      expected += share * value;
      magnitude += share * std::fabs(value);
    }
    if (c_.bias) expected += plain(built_.bias, index);
    if (c_.residual) expected += plain(built_.residual, index);
    const double bound = magnitude * (rounding_of_shares(c_.tile) + 1e-5 + 2 * row.score_error) +
                         (std::fabs(expected) + magnitude) * rounding_of(c_.output) + 0x1p-24;
    return std::fabs(got - expected) <= bound ? std::fabs(got - expected) / bound : infinity;
  }

 private:
  double plain(int operand, const Index& index) const {
    const AttentionOperand& own = built_.operands[static_cast<std::size_t>(operand)];
    return read(contents_[static_cast<std::size_t>(operand)], own.dtype, own.at(index));
  }
  double factor(int operand, const Index& index) const {
    return multiplied(c_.tile, plain(operand, index));
  }

  double score(Index index, double& error) const {
    const double scale = c_.scale == 0 ? 1 / std::sqrt(static_cast<double>(c_.d)) : c_.scale;
    double sum = 0, magnitude = 0;
    for (index[in_d] = 0; index[in_d] < c_.d; ++index[in_d]) {
      const double product = factor(0, index) * factor(1, index);
      sum += product;
      magnitude += std::fabs(product);
    }
    const double mask = c_.mask == MaskForm::None ? 0 : plain(built_.mask, index);
    if (mask <= least) return mask;  // the sum rounds to it
    if (mask > -infinity) {
      error = std::max(error, scale * magnitude * 0x1p-20 +
                                  (std::fabs(sum * scale) + std::fabs(mask)) * 0x1p-22);
    }
    return sum * scale + mask;
  }

  const BuiltAttention& built_;
  const AttentionCase& c_;
  const Contents& contents_;
};

/// Calls `visit` with every (b, g, m).
template <class Visit>
void for_each_row(const AttentionCase& c, const Visit& visit) {
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t g = 0; g < c.group; ++g) {
      for (std::int64_t m = 0; m < c.m; ++m) visit(Index{b, g, m, 0, 0, 0});
    }
  }
}

/// Which of its elements the output's tensor has.
std::vector<bool> written_elements(const BuiltAttention& built) {
  const AttentionOperand& output = built.operands.back();
  std::vector<bool> own(static_cast<std::size_t>(output.elements));
  for_each_row(built.form, [&](Index index) {
    for (index[in_n] = 0; index[in_n] < built.form.n; ++index[in_n])
      own[static_cast<std::size_t>(output.at(index))] = true;
  });
  return own;
}

void fill_mask(const BuiltAttention& built, std::vector<std::uint8_t>& buffer,
               std::mt19937_64& random) {
  const AttentionCase& c = built.form;
  const AttentionOperand& mask = built.operands[static_cast<std::size_t>(built.mask)];
  std::uniform_real_distribution<double> uniform(-2, 1.5);
  for_each_row(c, [&](Index index) {
    const bool hidden = c.hides_rows && random() % 3 == 0;
    for (index[in_keys] = 0; index[in_keys] < c.keys; ++index[in_keys]) {
      const bool nothing = hidden || random() % 5 == 0;
      const double hiding = c.hides_by_least ? least : -infinity;
      write(buffer, mask.dtype, mask.at(index), nothing ? hiding : uniform(random));
    }
  });
}

/// Up to eight heads that share keys, and as many rows as before, about.
void share_heads(AttentionCase& c, std::mt19937_64& random) {
  c.shared_outside = random() % 4 == 0;
  std::int64_t& heads = c.shared_outside ? c.batch : c.group;
  heads = static_cast<std::int64_t>(1 + random() % 8);
  c.m = std::max<std::int64_t>(1, c.m / heads + static_cast<std::int64_t>(random() % 2));
}

/// Slack and offset that allow vector copies, or odd ones.
void place_operands(AttentionCase& c, bool vectors, std::mt19937_64& random) {
  c.slack = static_cast<std::int64_t>(random() % 4);
  c.offset = static_cast<std::int64_t>(random() % 5);
  if (!vectors) return;
  const auto elements = static_cast<std::int64_t>(16 / size_of(c.dtype));
  c.d = ceil_div(c.d, elements) * elements;
  c.n = ceil_div(c.n, elements) * elements;
  c.slack = static_cast<std::int64_t>(random() % 2) * elements;
  c.offset = static_cast<std::int64_t>(random() % 3) * elements;
  c.transposed_keys = false;
  c.q = c.k = c.v = Copy::Vectors;
}

}  // namespace

void part_keys(AttentionCase& c, std::mt19937_64& random) {
  const std::int64_t steps = ceil_div(c.keys, c.tile.block_keys());
  c.shares_rows = true;
  c.parts = {};
  if (steps < 2) return;
  c.parts.span = static_cast<std::int64_t>(1 + random() % static_cast<std::uint64_t>(steps));
  c.parts.count = ceil_div(steps, c.parts.span);
}

AttentionCase random_attention_case(const choice::GpuAttentionTile& tile, DType dtype,
                                    std::mt19937_64& random) {
  const auto around = [&](int size) {
    const std::int64_t sizes[] = {1, 2, size - 1, size, size + 1, 37, 70};
    return std::min<std::int64_t>(sizes[random() % std::size(sizes)], 132);
  };
  const auto chance = [&](unsigned of) { return random() % of == 0; };
  AttentionCase c;
  c.tile = tile;
  c.dtype = dtype;
  c.m = around(tile.block_m);
  c.keys = chance(12) ? 0 : around(tile.block_keys());
  const auto width = static_cast<std::uint64_t>(tile.width),
             depth = static_cast<std::uint64_t>(tile.depth);
  c.n = chance(2) ? tile.width : static_cast<std::int64_t>(1 + random() % (width + width / 4));
  c.d = chance(2) ? tile.depth : static_cast<std::int64_t>(1 + random() % depth);
  c.batch = static_cast<std::int64_t>(1 + random() % 2);
  c.group = static_cast<std::int64_t>(1 + random() % 3);
  c.heads_as_rows = chance(2);
  if (c.heads_as_rows) share_heads(c, random);
  c.causal = chance(2);
  constexpr MaskForm masks[] = {MaskForm::None, MaskForm::None, MaskForm::Keys, MaskForm::Rows,
                                MaskForm::Full};
  c.mask = masks[random() % std::size(masks)];
  c.hides_rows = c.mask != MaskForm::None && chance(2);
  c.mask_dtype = chance(3) ? dtype : DType::f32;
  c.hides_by_least = c.mask_dtype == DType::f32 && chance(3);
  c.scale = chance(3) ? 0.9 : 0;
  c.heads_inside = chance(2);
  c.transposed_keys = chance(4);
  c.bias = chance(2);
  c.residual = chance(3);
  c.output = chance(3) ? dtype : DType::f32;
  c.blocks = static_cast<int>(1 + random() % 3);
  if (chance(3)) {
    c.keys += 2 * std::int64_t{tile.block_keys()};
    part_keys(c, random);
  }
  place_operands(c, dtype == tile.operands && chance(2), random);
  return c;
}

std::int64_t AttentionOperand::at(const Index& index) const {
  std::int64_t place = offset;
  for (std::size_t axis = 0; axis < attention_axes; ++axis) place += index[axis] * strides[axis];
  return place;
}

std::string to_string(const AttentionCase& c) {
  const auto letter = [](Copy copy) { return copy == Copy::Vectors ? 'v' : 'e'; };
  return fmt::format(
      "{}; {} heads, {} by {}{}{}, M {} N {} keys {} d {}; {}, mask {} form {}, output {}; "
      "copies {}{}{}, slack {} offset {}{}{}{}{}{}{}{} scale {}; {} parts of {}; {} blocks",
      c.tile.to_string(), c.batch * c.group, c.batch, c.group,
      c.shared_outside ? " shared outside" : "", c.heads_as_rows ? " as rows" : "", c.m, c.n,
      c.keys, c.d, name_of(c.dtype), name_of(c.mask_dtype), static_cast<int>(c.mask),
      name_of(c.output), letter(c.q), letter(c.k), letter(c.v), c.slack, c.offset,
      c.causal ? " causal" : "", c.heads_inside ? " heads inside" : "",
      c.transposed_keys ? " keys transposed" : "", c.hides_rows ? " hidden rows" : "",
      c.hides_by_least ? " by the least number" : "", c.bias ? " bias" : "",
      c.residual ? " residual" : "", c.scale, c.parts.count, c.parts.span, c.blocks);
}

BuiltAttention::BuiltAttention(const AttentionCase& c) : form(c) {
  const int shared = c.shared_outside ? in_batch : in_group;
  shape_class = {c.tile, c.q, c.k, c.v, {}, c.shares_rows, c.heads_as_rows ? shared : -1};
  for (const std::int64_t extent : {c.batch, c.group, c.m, c.n}) builder.axis(extent);
  for (const std::int64_t extent : {c.keys, c.d})
    builder.axis(extent, rkernel::AxisKind::Reduction);
  if (c.fixed_heads) {
    builder.problem.axes[in_n].extent = builder.constant(c.n);
    builder.problem.axes[in_d].extent = builder.constant(c.d);
  }
  rkernel::Attention attention;
  attention.m = in_m;
  attention.n = in_n;
  attention.keys = in_keys;
  attention.d = in_d;
  attention.scale = c.scale;
  attention.causal = c.causal;
  add_matrices();
  attention.mask = mask;
  builder.problem.attention = attention;
  builder.problem.lane_axis = in_n;
  add_outputs();
}

int BuiltAttention::add(const AttentionOperand& operand) {
  std::vector<graph::Dim> strides;
  for (const std::int64_t stride : operand.strides)
    strides.push_back(stride == 0 ? builder.constant(0) : builder.symbol(stride));
  const int index = builder.operand(operand.dtype, strides, operand.elements, operand.written);
  if (operand.offset != 0) builder.problem.operands.back().offset = builder.symbol(operand.offset);
  operands.push_back(operand);
  shape_class.lanes.push_back(operand.strides[in_n] == 0 ? codegen::StrideClass::Zero
                                                         : codegen::StrideClass::Any);
  return index;
}

void BuiltAttention::add_matrices() {
  const AttentionCase& c = form;
  const Rows q = rows_of(c, c.batch * c.group, c.m, c.d, false);
  add({c.dtype, c.offset, {c.group * q.head, q.head, q.row, 0, 0, q.column}, q.elements});
  const std::int64_t sets = c.shared_outside ? c.group : c.batch;
  const Rows k = rows_of(c, sets, c.keys, c.d, c.transposed_keys),
             v = rows_of(c, sets, c.keys, c.n, false);
  const auto outer = [&](const Rows& rows) { return c.shared_outside ? 0 : rows.head; };
  const auto inner = [&](const Rows& rows) { return c.shared_outside ? rows.head : 0; };
  add({c.dtype, c.offset, {outer(k), inner(k), 0, 0, k.row, k.column}, k.elements});
  add({c.dtype, c.offset, {outer(v), inner(v), 0, v.column, v.row, 0}, v.elements});
  const std::int64_t matrix = c.m * c.keys;
  if (c.mask == MaskForm::Keys) mask = add({c.mask_dtype, 0, {0, 0, 0, 0, 1, 0}, c.keys});
  if (c.mask == MaskForm::Rows) mask = add({c.mask_dtype, 0, {0, 0, c.keys, 0, 1, 0}, matrix});
  if (c.mask == MaskForm::Full) {
    mask = add(
        {c.mask_dtype, 0, {c.group * matrix, matrix, c.keys, 0, 1, 0}, c.batch * c.group * matrix});
  }
}

void BuiltAttention::add_outputs() {
  const AttentionCase& c = form;
  int value = builder.expr(ExprOp::Accumulator, {});
  if (c.bias) {
    bias = add({DType::f32, 0, {0, 0, 0, 1, 0, 0}, c.n});
    value = builder.expr(ExprOp::Add, {value, builder.load(bias)});
  }
  const std::int64_t head = c.m * (c.n + c.slack);
  AttentionOperand result{
      c.output, 0, {c.group * head, head, c.n + c.slack, 1, 0, 0}, c.batch * c.group * head, false};
  if (c.residual) {
    residual = add(result);
    value = builder.expr(ExprOp::Add, {value, builder.load(residual)});
  }
  result.written = true;
  output = add(result);
  builder.store(value, output);
}

codegen::KernelSource BuiltAttention::source() const {
  const auto emit = [this](llvm::Module& module, const std::string& symbol) {
    codegen::SlotTable slots(builder.problem);
    const GpuAttentionSlots grid = add_gpu_attention_slots(slots, form.shares_rows, heads());
    emit_gpu_attention(module, symbol,
                       attention_tree(builder.problem, form.tile, heads(), described_gpu("a100")),
                       slots, grid, shape_class);
  };
  const codegen::SlotTable slots(builder.problem);
  return {"gpu attention " + ptx::to_string(shape_class) + " " +
              codegen::structure_key(builder.problem, slots),
          emit};
}

std::int64_t BuiltAttention::tickets() const {
  const std::int64_t heads = form.batch * form.group,
                     sets = form.heads_as_rows ? heads / sharing_heads(form) : heads;
  return sets * ceil_div(rows_of_tiles(form), form.tile.block_m) *
         ceil_div(form.n, form.tile.width) * form.parts.count;
}

std::size_t BuiltAttention::part_memory() const {
  if (form.parts.count == 1) return 0;
  return PartMemory::bytes(tickets(), static_cast<std::size_t>(form.tile.part_bytes()));
}

std::vector<std::int64_t> BuiltAttention::ints() const {
  codegen::SlotTable slots(builder.problem);
  const GpuAttentionSlots grid = add_gpu_attention_slots(slots, form.shares_rows, heads());
  std::vector<std::int64_t> ints = slots.evaluate(builder.values);
  const auto set = [&](int slot, std::int64_t value) {
    if (slot != codegen::SlotTable::none) ints[static_cast<std::size_t>(slot)] = value;
  };
  const std::int64_t m_blocks = ceil_div(rows_of_tiles(form), form.tile.block_m),
                     n_blocks = ceil_div(form.n, form.tile.width);
  const double scale = form.scale == 0 ? 1 / std::sqrt(static_cast<double>(form.d)) : form.scale;
  set(grid.m_blocks, m_blocks);
  set(grid.n_blocks, n_blocks);
  set(grid.tickets, tickets());
  set_head_slots(grid.heads, sharing_heads(form), ints);
  set(grid.parts, form.parts.count);
  set(grid.span, form.parts.count > 1
                     ? form.parts.span
                     : std::max<std::int64_t>(1, ceil_div(form.keys, form.tile.block_keys())));
  set(grid.scale, std::bit_cast<std::int32_t>(static_cast<float>(scale)));
  return ints;
}

Contents random_operands(const BuiltAttention& built, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1, 1.5);
  Contents contents;
  for (const AttentionOperand& operand : built.operands) {
    std::vector<std::uint8_t> buffer(
        static_cast<std::size_t>(operand.elements) * size_of(operand.dtype), untouched);
    if (!operand.written) {
      for (std::int64_t i = 0; i < operand.elements; ++i)
        write(buffer, operand.dtype, i, uniform(random));
    }
    contents.push_back(std::move(buffer));
  }
  if (built.mask >= 0) fill_mask(built, contents[static_cast<std::size_t>(built.mask)], random);
  return contents;
}

double worst_attention_error(const BuiltAttention& built, const Contents& operands,
                             const std::vector<std::uint8_t>& output) {
  const AttentionOperand& result = built.operands.back();
  const std::vector<bool> own = written_elements(built);
  const std::size_t size = size_of(result.dtype);
  for (std::size_t byte = 0; byte < output.size(); ++byte) {
    if (!own[byte / size] && output[byte] != untouched) return infinity;
  }
  const Expectation expectation(built, operands);
  double worst = 0;
  for_each_row(built.form, [&](Index index) {
    const RowShares row = expectation.shares_of(index);
    for (index[in_n] = 0; index[in_n] < built.form.n; ++index[in_n]) {
      const double got = read(output, result.dtype, result.at(index));
      worst = std::max(worst, expectation.error_at(index, row, got));
    }
  });
  return worst;
}

}  // namespace dyn::ptx::testing
