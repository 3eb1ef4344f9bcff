#pragma once
// Matrix products by hand: a problem of given sizes, dtypes and strides, and its kernel as device
// IR.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "src/rkernel/tree/layer.hpp"
#include "targets/llvm/problem/kernel_source.hpp"
#include "targets/ptx/contraction/emitter.hpp"

namespace dyn::ptx::testing {

/// Rows and columns of the output, in each batch.
struct OutputRange {
  std::int64_t m = 0, m_end = 0, n = 0, n_end = 0;
};

/// Images [images, height, width, channels], from which a(m, k) is gathered: m counts windows, k
/// (row of taps, tap, channel). Pairs: along height and width.
struct WindowImages {
  std::int64_t images = 1, height = 1, width = 1, channels = 1;
  std::array<std::int64_t, 2> size{3, 3}, stride{1, 1}, dilation{1, 1}, before{1, 1}, after{1, 1};
  std::int64_t slack = 0;    ///< elements after the channels of a pixel
  std::int64_t outside = 0;  ///< an element outside, of bytes
  bool inside = false;  ///< it is known that no window reaches beyond, nor a dilation but 1; then
                        ///< so are strides and channels, and there is no padding and no slack

  std::array<std::int64_t, 2> counts() const;
  std::int64_t elements() const { return images * height * width * (channels + slack); }
  /// Where a(m, k) lies; nothing outside of the image.
  std::optional<std::int64_t> place(std::int64_t m, std::int64_t k) const;
};

/// One matrix product: output(b, m, n) = residual(b, m, n) + gelu(bias(n) + sum over k of a(b, m,
/// k) * b(b, k, n)). Of factors of u8 and i8 the sum, the bias, and an output that is not
/// requantised are i32; `gelu` requantises: requantised(sum) as the output's dtype, u8 or i8.
struct MatmulCase {
  choice::GpuTile tile;
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  int batch_axes = 1;  ///< 0 (for a batch of 1), 1, or 2: the inner one with 2 of the matrices, so
                       ///< that `batch` is even
  DType a = DType::f32, b = DType::f32, output = DType::f32;
  Copy a_copy = Copy::Elements, b_copy = Copy::Elements;
  BOrder b_order = BOrder::RowsAlongN;
  bool transpose_a = false, transpose_b = false,
       transpose_output = false;          ///< the first of the two axes is contiguous
  bool share_a = false, share_b = false;  ///< batch stride 0
  std::int64_t a_slack = 0, b_slack = 0, output_slack = 0;  ///< elements after each row
  std::int64_t offset = 0;                                  ///< of a and b, elements
  bool bias = false, gelu = false, residual = false;
  int blocks = 2;  ///< of the grid
  std::optional<choice::GpuTile> second =
      std::nullopt;  ///< tile of a second region, which computes the part of the output that the
                     ///< first one, by `tile`, leaves
  /// Copies of both factors for the second tile, where not as for the first; then B's rows run
  /// along n.
  std::optional<Copy> second_copies = std::nullopt;
  OutputRange first{};           ///< for programs of two: the first region's
  bool split = false;            ///< blocks may share tiles
  choice::GpuSplit shared = {};  ///< tiles that they do share, where `split`
  /// Then batch is 1 without an axis; m and k are those that set_windows() gives.
  std::optional<WindowImages> windows = std::nullopt;
  bool in_place = false;  ///< with `residual`: it is the output's memory, so that an element stored
                          ///< twice is wrong
};
std::string to_string(const MatmulCase& c);

/// Elements that a copy needs a row to be a multiple of: 1 where there is no chunk.
std::int64_t elements_of_chunk(Copy copy, DType dtype);
/// One that a tile can have of a factor: of words only where elements have fewer than 4 bytes.
Copy random_copy(const choice::GpuTile& tile, std::mt19937_64& random);

/// The accumulators, and the bias, are f32 or i32.
DType sum_dtype(const MatmulCase& c);
/// sum as f32, times requantised_scale, to the nearest integer, ties to even, plus
/// requantised_zero, within the dtype.
inline constexpr double requantised_scale = 0x1p-9;
inline constexpr std::int64_t requantised_zero = 3;

/// Makes A's rows windows.
void set_windows(MatmulCase& c, const WindowImages& windows);

/// The layout of a matrix of `rows` x `columns`, for each batch.
struct MatrixLayout {
  std::int64_t offset = 0, batch_stride = 0, row_stride = 0, column_stride = 0,
               elements = 0;  ///< elements: of the whole buffer
};
MatrixLayout a_layout(const MatmulCase& c);
MatrixLayout b_layout(const MatmulCase& c);
MatrixLayout output_layout(const MatmulCase& c);

/// The problem with its own DimTable. Sizes, offsets and strides are symbols, so that nothing is
/// known before the launch: cases of one form (all but sizes, slacks, offset and blocks) have one
/// kernel. Operands: a, b, bias where there is one, residual where there is one, output.
struct BuiltMatmul {
  std::unique_ptr<graph::DimTable> dims;
  rkernel::Problem problem;
  std::vector<std::int64_t> symbols;
  GpuContractionClass shape_class;
};
BuiltMatmul build(const MatmulCase& c);

/// The part that the second tile computes: all rows, or all columns, before or after the first
/// region.
OutputRange second_range(const MatmulCase& c);

/// The kernel. `change` edits its tree before code is made from it. Lives no longer than `built`.
codegen::KernelSource source_of(const BuiltMatmul& built,
                                const std::function<void(rkernel::RKernel&)>& change = {});

/// Tiles of the output, where one tile computes all of it.
std::int64_t tiles_of(const MatmulCase& c);
/// Tickets of the whole launch.
std::int64_t tickets_of(const MatmulCase& c);

/// Bytes of the memory that its blocks share, where `split`.
std::size_t shared_bytes_of(const MatmulCase& c);

/// The slots of its ints.
std::vector<std::int64_t> ints_of(const MatmulCase& c, const BuiltMatmul& built);

/// Tiles of every engine, small enough for many cases.
choice::GpuTile small_cuda_tile();
choice::GpuTile small_tensor_tile(DType operands);

/// All pairs of tiles, first and second, that a described GPU's numbers give, TF32 included.
std::vector<std::array<choice::GpuTile, 2>> candidate_pairs(const char* gpu,
                                                            const std::vector<DType>& dtypes);

/// The tile with the copies of a block's next tile before the outputs of the one before; stages of
/// CUDA cores are made as deep as that needs.
choice::GpuTile overlapped(choice::GpuTile tile);

/// All tiles that an A100's numbers give for these dtypes, TF32 included; i8 stands for bytes.
std::vector<choice::GpuTile> candidate_tiles(const std::vector<DType>& dtypes);

}  // namespace dyn::ptx::testing
