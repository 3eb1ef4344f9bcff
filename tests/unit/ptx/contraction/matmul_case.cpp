#include "tests/unit/ptx/contraction/matmul_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/rounding.hpp"
#include "src/choice/gpu/programs.hpp"
#include "targets/ptx/contraction/fix_up.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/tile/tree.hpp"

namespace dyn::ptx::testing {
namespace {

using rkernel::Expr;
using rkernel::ExprOp;
using rkernel::Operand;

/// Extent of the second of two batch axes.
constexpr std::int64_t inner_batch = 2;

MatrixLayout layout(std::int64_t batch, std::int64_t rows, std::int64_t columns, bool transposed,
                    bool shared, std::int64_t slack, std::int64_t offset) {
  MatrixLayout made;
  const std::int64_t inner = transposed ? rows : columns, outer = transposed ? columns : rows;
  const std::int64_t stride = inner + slack;
  made.offset = offset;
  made.row_stride = transposed ? 1 : stride;
  made.column_stride = transposed ? stride : 1;
  made.batch_stride = shared ? 0 : outer * stride;
  made.elements = offset + (shared ? 1 : batch) * outer * stride;
  return made;
}

/// Adds expressions to a problem, whose accumulators are of this dtype.
class Exprs {
 public:
  Exprs(rkernel::Problem& problem, DType sums) : problem_(problem), sums_(sums) {}
  int accumulator() { return apply(ExprOp::Accumulator, -1); }
  int constant(double number) {
    Expr expr = made(ExprOp::Constant, DType::f32);
    expr.number = number;
    return add(expr);
  }
  int constant(DType dtype, std::int64_t integer) {
    Expr expr = made(ExprOp::Constant, dtype);
    expr.integer = integer;
    return add(expr);
  }
  /// In registers every float is f32, whatever the operand's dtype.
  int load(int operand) {
    Expr expr = made(ExprOp::Load, sums_);
    expr.operand = operand;
    return add(expr);
  }
  int apply(ExprOp op, int a, int b = -1) { return add(made(op, sums_, a, b)); }
  int gelu(int x) {
    const int erf = apply(ExprOp::Erf, apply(ExprOp::Mul, x, constant(std::sqrt(0.5))));
    return apply(ExprOp::Mul, apply(ExprOp::Mul, x, constant(0.5)),
                 apply(ExprOp::Add, erf, constant(1)));
  }
  int requantised(int sum, DType to) {
    const bool is_signed = to == DType::i8;
    const int scaled = add(made(ExprOp::Mul, DType::f32, add(made(ExprOp::Cast, DType::f32, sum)),
                                constant(requantised_scale)));
    const int rounded = add(made(ExprOp::Round, DType::f32, scaled));
    const int whole = add(made(ExprOp::Cast, DType::i32, rounded));
    const int moved = apply(ExprOp::Add, whole, constant(DType::i32, requantised_zero));
    const int least = apply(ExprOp::Max, moved, constant(DType::i32, is_signed ? -128 : 0));
    const int within = apply(ExprOp::Min, least, constant(DType::i32, is_signed ? 127 : 255));
    return add(made(ExprOp::Cast, to, within));
  }

 private:
  static Expr made(ExprOp op, DType dtype, int a = -1, int b = -1) {
    Expr expr;
    expr.op = op;
    expr.dtype = dtype;
    expr.args[0] = a;
    expr.args[1] = b;
    return expr;
  }
  int add(Expr expr) {
    problem_.exprs.push_back(std::move(expr));
    return static_cast<int>(problem_.exprs.size()) - 1;
  }
  rkernel::Problem& problem_;
  const DType sums_;
};

/// Adds dims and operands to a problem.
class Operands {
 public:
  Operands(BuiltMatmul& built, int batch_axes) : built_(built), batch_axes_(batch_axes) {}
  graph::Dim symbol(std::int64_t value) {
    const std::string name = "s" + std::to_string(built_.symbols.size());
    built_.symbols.push_back(value);
    return built_.dims->symbol(
        {.name = name, .low = 0, .high = std::int64_t{1} << 40, .divisor = 1, .hint = {}});
  }
  /// Offset, and strides of the axes b, m, n, k: -1 where there is none. `unit`: the stride along n
  /// is 1, whatever the sizes.
  int add(const char* name, DType dtype, std::int64_t offset,
          const std::vector<std::int64_t>& strides, bool unit, bool written = false) {
    Operand operand;
    operand.name = name;
    operand.dtype = dtype;
    operand.buffer = static_cast<graph::ValueId>(built_.problem.operands.size());
    operand.offset = offset < 0 ? built_.dims->constant(0) : symbol(offset);
    const auto add_stride = [&](std::int64_t stride) {
      operand.strides.push_back(stride < 0 ? built_.dims->constant(0) : symbol(stride));
    };
    if (batch_axes_ > 1) add_stride(strides[0] < 0 ? -1 : inner_batch * strides[0]);
    for (std::size_t i = batch_axes_ > 0 ? 0 : 1; i < strides.size(); ++i) add_stride(strides[i]);
    operand.written = written;
    built_.problem.operands.push_back(operand);
    built_.shape_class.lanes.push_back(strides[2] < 0 ? codegen::StrideClass::Zero
                                       : unit         ? codegen::StrideClass::Unit
                                                      : codegen::StrideClass::Any);
    return static_cast<int>(built_.problem.operands.size()) - 1;
  }

  /// Makes the last operand's rows windows. Sizes alone are known before the launch; where they lie
  /// in strips, strides and channels as well.
  void slide(const WindowImages& images, bool strips) {
    const auto constant = [&](std::int64_t value) { return built_.dims->constant(value); };
    const auto form = [&](std::int64_t value) {
      return strips || images.inside ? constant(value) : symbol(value);
    };
    const auto [rows, columns] = images.counts();
    const graph::Dim one = constant(1), none = constant(0), count = symbol(images.images);
    const std::int64_t pixel = images.channels + images.slack;
    const int m = batch_axes_;
    rkernel::WindowRows windows{
        {{m, count, one, one, one, none, count, symbol(images.height * images.width * pixel)}},
        form(images.channels),
        one,
        images.outside};
    for (const std::size_t i : {0U, 1U}) {
      const graph::Dim extent = symbol(i == 0 ? images.height : images.width),
                       size = constant(images.size[i]), stride = form(images.stride[i]);
      const graph::Dim slid =
          images.inside ? floordiv(extent - size, stride) + 1 : symbol(i == 0 ? rows : columns);
      windows.axes.push_back({m, slid, size, stride, form(images.dilation[i]),
                              images.inside ? none : symbol(images.before[i]), extent,
                              i == 0 ? symbol(images.width * pixel) : form(pixel)});
    }
    built_.problem.operands.back().window = std::move(windows);
  }

 private:
  BuiltMatmul& built_;
  int batch_axes_;
};

std::int64_t steps_of(const MatmulCase& c) { return ceil_div(c.k, c.tile.block_k); }

}  // namespace

std::int64_t elements_of_chunk(Copy copy, DType dtype) {
  const int bytes = copy == Copy::Vectors ? 16 : copy == Copy::Words ? 4 : 0;
  return std::max<std::int64_t>(1, bytes / static_cast<int>(size_of(dtype)));
}

Copy random_copy(const choice::GpuTile& tile, std::mt19937_64& random) {
  constexpr Copy copies[] = {Copy::Vectors, Copy::Elements, Copy::Words};
  return copies[random() % (size_of(tile.operands) < sizeof(float) ? 3 : 2)];
}

std::array<std::int64_t, 2> WindowImages::counts() const {
  std::array<std::int64_t, 2> counts{};
  for (const std::size_t i : {0U, 1U}) {
    const std::int64_t room = (i == 0 ? height : width) + before[i] + after[i];
    counts[i] = (room - (size[i] - 1) * dilation[i] - 1) / stride[i] + 1;
  }
  return counts;
}

std::optional<std::int64_t> WindowImages::place(std::int64_t m, std::int64_t k) const {
  const auto [rows, columns] = counts();
  const std::int64_t channel = k % channels, tap = k / channels;
  const std::int64_t y = m / columns % rows * stride[0] - before[0] + tap / size[1] * dilation[0];
  const std::int64_t x = m % columns * stride[1] - before[1] + tap % size[1] * dilation[1];
  if (y < 0 || y >= height || x < 0 || x >= width) return std::nullopt;
  return ((m / columns / rows * height + y) * width + x) * (channels + slack) + channel;
}

void set_windows(MatmulCase& c, const WindowImages& windows) {
  const auto [rows, columns] = windows.counts();
  c.windows = windows;
  c.batch = 1;
  c.batch_axes = 0;
  c.m = windows.images * rows * columns;
  c.k = windows.size[0] * windows.size[1] * windows.channels;
}

DType sum_dtype(const MatmulCase& c) { return c.tile.integers() ? DType::i32 : DType::f32; }

MatrixLayout a_layout(const MatmulCase& c) {
  if (c.windows) return {.offset = c.offset, .elements = c.offset + c.windows->elements()};
  return layout(c.batch, c.m, c.k, c.transpose_a, c.share_a, c.a_slack, c.offset);
}
MatrixLayout b_layout(const MatmulCase& c) {
  return layout(c.batch, c.k, c.n, c.transpose_b, c.share_b, c.b_slack, c.offset);
}
MatrixLayout output_layout(const MatmulCase& c) {
  return layout(c.batch, c.m, c.n, c.transpose_output, false, c.output_slack, 0);
}

std::optional<RegionClass> second_class(const MatmulCase& c) {
  if (!c.second) return std::nullopt;
  if (c.second_copies)
    return RegionClass{*c.second, *c.second_copies, *c.second_copies, BOrder::RowsAlongN};
  return RegionClass{*c.second, c.a_copy, c.b_copy, c.b_order};
}

BuiltMatmul build(const MatmulCase& c) {
  BuiltMatmul built;
  built.dims = std::make_unique<graph::DimTable>();
  built.shape_class = {.tile = c.tile,
                       .a = c.a_copy,
                       .b = c.b_copy,
                       .b_order = c.b_order,
                       .lanes = {},
                       .second = second_class(c),
                       .split = c.split};
  Operands operands(built, c.batch_axes);
  rkernel::Problem& problem = built.problem;
  problem.name = "matmul";
  if (c.batch_axes > 0)
    problem.axes.push_back(
        {"b", operands.symbol(c.batch_axes == 1 ? c.batch : c.batch / inner_batch)});
  if (c.batch_axes > 1) problem.axes.push_back({"h", operands.symbol(inner_batch)});
  problem.axes.push_back({"m", operands.symbol(c.m)});
  problem.axes.push_back({"n", operands.symbol(c.n)});
  problem.axes.push_back({"k", operands.symbol(c.k), rkernel::AxisKind::Reduction});
  problem.contraction =
      rkernel::Contraction{0, 1, c.batch_axes, c.batch_axes + 1, c.batch_axes + 2};
  problem.lane_axis = c.batch_axes + 1;
  const MatrixLayout a = a_layout(c), b = b_layout(c), output = output_layout(c);
  if (c.windows) {
    operands.add("a", c.a, a.offset, {-1, -1, -1, -1}, false);
    operands.slide(*c.windows, c.a_copy == Copy::Strips);
  } else {
    operands.add("a", c.a, a.offset, {a.batch_stride, a.row_stride, -1, a.column_stride}, false);
  }
  operands.add("b", c.b, b.offset, {b.batch_stride, -1, b.column_stride, b.row_stride},
               !c.transpose_b);
  Exprs exprs(problem, sum_dtype(c));
  int value = exprs.accumulator();
  if (c.bias)
    value = exprs.apply(ExprOp::Add, value,
                        exprs.load(operands.add("bias", sum_dtype(c), -1, {-1, -1, 1, -1}, true)));
  if (c.gelu) value = c.tile.integers() ? exprs.requantised(value, c.output) : exprs.gelu(value);
  if (c.residual) {
    value = exprs.apply(
        ExprOp::Add, value,
        exprs.load(operands.add("residual", c.output, -1, {c.m * c.n, c.n, 1, -1}, true)));
  }
  const int written = operands.add(
      "output", c.output, -1, {output.batch_stride, output.row_stride, output.column_stride, -1},
      !c.transpose_output, true);
  if (c.in_place)
    problem.operands[static_cast<std::size_t>(written) - 1].buffer = problem.operands.back().buffer;
  problem.stores.push_back({value, written});
  built.shape_class.outputs = vector_outputs(problem, built.shape_class.lanes);
  return built;
}

codegen::KernelSource source_of(const BuiltMatmul& built,
                                const std::function<void(rkernel::RKernel&)>& change) {
  const auto emit = [&built, change](llvm::Module& module, const std::string& symbol) {
    codegen::SlotTable slots(built.problem);
    std::vector<RegionTree> regions;
    const auto add = [&](std::size_t region, const GridSlots& grid) {
      const GpuContractionClass own = class_of_region(built.shape_class, region);
      const choice::GpuTile emitted = emitted_tile(own, own.tile);
      regions.push_back({contraction_tree(built.problem, emitted, described_gpu("a100")), grid});
      if (change) change(regions.back().kernel);
    };
    if (built.shape_class.second) {
      const PairSlots pair = add_pair_slots(slots, built.problem);
      add(0, pair[0]);
      add(1, pair[1]);
    } else {
      add(0, add_grid_slots(slots, built.problem, built.shape_class.split));
    }
    emit_gpu_contraction(module, symbol, regions, slots, built.shape_class);
  };
  return {to_string(built.shape_class), emit};
}

OutputRange second_range(const MatmulCase& c) {
  const auto [m, m_end, n, n_end] = c.first;
  if (m > 0) return {0, m, 0, c.n};
  if (m_end < c.m) return {m_end, c.m, 0, c.n};
  if (n > 0) return {0, c.m, 0, n};
  return {0, c.m, n_end, c.n};
}

std::int64_t tiles_of(const MatmulCase& c) {
  return c.batch * ceil_div(c.m, c.tile.block_m) * ceil_div(c.n, c.tile.block_n);
}

std::int64_t tickets_of(const MatmulCase& c) {
  return tiles_of(c) - c.shared.tiles + c.shared.blocks(steps_of(c));
}

std::size_t shared_bytes_of(const MatmulCase& c) {
  return FixUp::bytes(tickets_of(c), tiles_of(c), std::int64_t{c.tile.block_m} * c.tile.block_n);
}

std::vector<std::int64_t> ints_of(const MatmulCase& c, const BuiltMatmul& built) {
  codegen::SlotTable slots(built.problem);
  const PairSlots pair = c.second ? add_pair_slots(slots, built.problem)
                                  : PairSlots{add_grid_slots(slots, built.problem, c.split)};
  std::vector<std::int64_t> ints = slots.evaluate(built.symbols);
  std::int64_t tickets = 0;
  const auto fill = [&](const GridSlots& grid, const choice::GpuTile& tile,
                        const OutputRange& range) {
    const auto set = [&](int slot, std::int64_t value) {
      if (slot != codegen::SlotTable::none) ints[static_cast<std::size_t>(slot)] = value;
    };
    const std::int64_t m_blocks = (range.m_end - range.m + tile.block_m - 1) / tile.block_m;
    const std::int64_t n_blocks = (range.n_end - range.n + tile.block_n - 1) / tile.block_n;
    const std::int64_t steps = steps_of(c), whole = c.batch * m_blocks * n_blocks - c.shared.tiles;
    tickets += whole + c.shared.blocks(steps);
    set(grid.whole, whole);
    set(grid.span, c.shared.span);
    set(grid.shared_steps, c.shared.tiles * steps);
    fill_raster(grid.raster, built.problem, slots, m_blocks, n_blocks, ints);
    set(grid.vector_outputs,
        built.shape_class.outputs != VectorOutputs::Never &&
                vector_outputs_now(built.problem, built.shape_class.lanes, slots, ints)
            ? 1
            : 0);
    set(grid.tickets, tickets);
    set(grid.m_begin, range.m);
    set(grid.m_end, range.m_end);
    set(grid.n_begin, range.n);
    set(grid.n_end, range.n_end);
  };
  fill(pair[0], c.tile, c.second ? c.first : OutputRange{0, c.m, 0, c.n});
  if (c.second) fill(pair[1], *c.second, second_range(c));
  return ints;
}

std::string to_string(const MatmulCase& c) {
  std::string text = c.tile.to_string() + (c.second ? " and " + c.second->to_string() : "") +
                     "; batch " + std::to_string(c.batch) + " in " + std::to_string(c.batch_axes) +
                     " axes, M " + std::to_string(c.m) + " N " + std::to_string(c.n) + " K " +
                     std::to_string(c.k) + "; A " + std::string(name_of(c.a)) +
                     (c.transpose_a ? " transposed" : "") + (c.share_a ? " shared" : "") +
                     " slack " + std::to_string(c.a_slack) + ", " + std::string(text_of(c.a_copy)) +
                     "; B " + std::string(name_of(c.b)) + (c.transpose_b ? " transposed" : "") +
                     (c.share_b ? " shared" : "") + " slack " + std::to_string(c.b_slack) + ", " +
                     std::string(text_of(c.b_copy)) +
                     (c.b_order == BOrder::RowsAlongK ? ", rows along k" : ", rows along n") +
                     "; offset " + std::to_string(c.offset);
  text += "; output " + std::string(name_of(c.output)) + (c.transpose_output ? " transposed" : "") +
          " slack " + std::to_string(c.output_slack);
  if (c.second) {
    const auto [m, m_end, n, n_end] = c.first;
    if (c.second_copies) text += ", the second's " + std::string(text_of(*c.second_copies));
    text += "; first region rows " + std::to_string(m) + " to " + std::to_string(m_end) +
            ", columns " + std::to_string(n) + " to " + std::to_string(n_end);
  }
  if (c.split)
    text += fmt::format("; the last {} tiles shared by {} steps", c.shared.tiles, c.shared.span);
  if (c.windows) {
    const WindowImages& w = *c.windows;
    text += fmt::format(
        "; windows {} on {} images {} x {} x {} slack {}, strides {}, dilations {}, "
        "before {}, after {}, outside {}",
        fmt::join(w.size, "x"), w.images, w.height, w.width, w.channels, w.slack,
        fmt::join(w.stride, "x"), fmt::join(w.dilation, "x"), fmt::join(w.before, "x"),
        fmt::join(w.after, "x"), w.outside);
  }
  return text + (c.in_place ? " in place" : "") + (c.bias ? " bias" : "") +
         (c.gelu ? c.tile.integers() ? " requantised" : " gelu" : "") +
         (c.residual ? " residual" : "") + "; " + std::to_string(c.blocks) + " blocks";
}

choice::GpuTile small_cuda_tile() {
  return {.engine = choice::Engine::CudaCores,
          .operands = DType::f32,
          .thread_m = 4,
          .thread_n = 4,
          .warp_m = 16,
          .warp_n = 32,
          .block_m = 32,
          .block_n = 32,
          .block_k = 8,
          .stages = 2};
}

choice::GpuTile small_tensor_tile(DType operands) {
  return {.engine = choice::Engine::TensorCores,
          .operands = operands,
          .thread_m = 16,
          .thread_n = 8,
          .warp_m = 16,
          .warp_n = 16,
          .block_m = 32,
          .block_n = 32,
          .block_k = 2 * choice::mma_depth(operands),
          .stages = 3,
          .ahead = operands != DType::f32};
}

choice::GpuTile overlapped(choice::GpuTile tile) {
  tile.overlapped = true;
  while (tile.output_bands() == 0) tile.block_k *= 2;
  return tile;
}

std::vector<choice::GpuTile> candidate_tiles(const std::vector<DType>& dtypes) {
  std::vector<choice::GpuTile> tiles;
  for (const DType dtype : dtypes) {
    for (const bool tf32 : {false, true}) {
      for (const choice::GpuTile& tile : choice::gpu_tiles(described_gpu("a100"), dtype, tf32)) {
        if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) tiles.push_back(tile);
      }
    }
  }
  return tiles;
}

std::vector<std::array<choice::GpuTile, 2>> candidate_pairs(const char* gpu,
                                                            const std::vector<DType>& dtypes) {
  std::vector<std::array<choice::GpuTile, 2>> pairs;
  for (const DType dtype : dtypes) {
    for (const bool tf32 : {false, true}) {
      const std::vector<choice::GpuTile> tiles = choice::gpu_tiles(described_gpu(gpu), dtype, tf32);
      for (const auto& [first, second] : choice::gpu_pairs(described_gpu(gpu), tiles)) {
        const std::array pair{tiles[first], tiles[second]};
        if (std::ranges::find(pairs, pair) == pairs.end()) pairs.push_back(pair);
      }
    }
  }
  return pairs;
}

}  // namespace dyn::ptx::testing
