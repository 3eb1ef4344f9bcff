#include "tests/unit/cli/report/suite_shapes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/dims/dim.hpp"
#include "src/rkernel/problem/problem.hpp"
#include "targets/ptx/copies/vector_copies.hpp"
#include "targets/ptx/programs/candidates.hpp"
#include "targets/ptx/tile/strip_layout.hpp"

namespace dyn::testing {
namespace {

using choice::GpuContraction;
using choice::GpuTile;
using cli::OpCase;

constexpr double instructions_of_output = 2;  ///< the tile is read, the result stored

bool are_vectors(std::int64_t row, DType dtype) {
  return row * static_cast<std::int64_t>(size_of(dtype)) % 16 == 0;
}

GpuContraction sizes_of(std::int64_t m, std::int64_t n, std::int64_t k, DType operands) {
  GpuContraction shape;
  shape.m = m, shape.n = n, shape.k = k;
  shape.a_element_bytes = shape.b_element_bytes = shape.epilogue_bytes =
      static_cast<double>(size_of(operands));
  shape.epilogue_operations = instructions_of_output;
  return shape;
}

double flops_of(const GpuContraction& shape) {
  return 2 * static_cast<double>(shape.batch * shape.m * shape.n * shape.k);
}

/// The numbers of an attribute, as a suite's line has them: "[2,2]" or "2".
std::array<std::int64_t, 2> numbers_of(const OpCase& line, const std::string& attribute) {
  const auto found = std::ranges::find(line.problem.attributes, attribute,
                                       &std::pair<std::string, std::string>::first);
  REQUIRE(found != line.problem.attributes.end());
  std::array<long, 2> numbers{};
  const char* form = found->second.front() == '[' ? "[%ld,%ld]" : "%ld";
  REQUIRE(std::sscanf(found->second.c_str(), form, &numbers[0], &numbers[1]) >= 1);
  return {numbers[0], numbers[1]};
}

/// A convolution of a suite, by axes: rows, columns.
struct Conv {
  explicit Conv(const OpCase& line)
      : images(line.values.at("N")),
        channels(line.values.at("IC")),
        filters(line.values.at("OC")),
        groups(numbers_of(line, "groups")[0]),
        extent{line.values.at("IH"), line.values.at("IW")},
        size{line.values.at("KH"), line.values.at("KW")},
        stride(numbers_of(line, "strides")),
        before(numbers_of(line, "before")) {
    const auto after = numbers_of(line, "after");
    for (const std::size_t i : {0U, 1U}) {
      count[i] = (extent[i] + before[i] + after[i] - size[i]) / stride[i] + 1;
      is_padded |= before[i] + after[i] > 0;
    }
  }
  /// Then it is a matrix product.
  bool is_pointwise() const {
    return !is_padded && size == std::array<std::int64_t, 2>{1, 1} &&
           stride == std::array<std::int64_t, 2>{1, 1} && groups == 1;
  }
  std::int64_t windows() const { return images * count[0] * count[1]; }
  std::int64_t of_group() const { return channels / groups; }
  std::int64_t depth() const { return size[0] * size[1] * of_group(); }
  std::int64_t elements() const { return images * extent[0] * extent[1] * channels; }
  /// Those that some window needs: strides may step over the others.
  std::int64_t elements_met() const { return images * met(0) * met(1) * channels; }
  std::int64_t met(std::size_t axis) const {
    std::vector<bool> is_met(static_cast<std::size_t>(extent[axis]));
    for (std::int64_t window = 0; window < count[axis]; ++window) {
      for (std::int64_t tap = 0; tap < size[axis]; ++tap) {
        const std::int64_t at = window * stride[axis] + tap - before[axis];
        if (at >= 0 && at < extent[axis]) is_met[static_cast<std::size_t>(at)] = true;
      }
    }
    return std::ranges::count(is_met, true);
  }

  std::int64_t images, channels, filters, groups;
  std::array<std::int64_t, 2> extent, size, stride, before, count{};
  bool is_padded = false;
};

/// The windows and their axes; there is no more of the problem.
rkernel::Problem problem_of(const Conv& conv, DType operands, graph::DimTable& dims) {
  const auto number = [&](std::int64_t value) { return dims.constant(value); };
  rkernel::Problem problem;
  const int m = conv.groups > 1 ? 1 : 0;
  const graph::Dim one = number(1), none = number(0), images = number(conv.images);
  rkernel::WindowRows rows{
      {{m, images, one, one, one, none, images, number(conv.elements() / conv.images)}},
      number(conv.of_group()),
      one};
  for (const std::size_t i : {0U, 1U}) {
    rows.axes.push_back({m, number(conv.count[i]), number(conv.size[i]), number(conv.stride[i]),
                         one, number(conv.before[i]), number(conv.extent[i]),
                         number(i == 0 ? conv.extent[1] * conv.channels : conv.channels)});
  }
  rkernel::Operand a;
  a.dtype = operands;
  a.offset = none;
  a.strides.assign(static_cast<std::size_t>(m) + 3, none);
  if (m == 1) a.strides[0] = number(conv.of_group());
  a.window = std::move(rows);
  problem.operands = {std::move(a)};
  problem.contraction = rkernel::Contraction{0, 1, m, m + 1, m + 2};
  return problem;
}

}  // namespace

SuiteShape matmul_shape(const OpCase& line, DType operands, const std::vector<GpuTile>& tiles) {
  REQUIRE(line.problem.attributes.empty());  // nothing is transposed
  const GpuContraction sizes =
      sizes_of(line.values.at("M"), line.values.at("N"), line.values.at("K"), operands);
  const auto shape_for = [sizes](const GpuTile& tile) {
    GpuContraction shape = sizes;
    shape.a_vectors = are_vectors(shape.k, tile.operands);
    shape.b_vectors = are_vectors(shape.n, tile.operands);
    return shape;
  };
  const auto elements = sizes.m * sizes.k + sizes.k * sizes.n + sizes.m * sizes.n;
  return {shape_for, tiles, flops_of(sizes),
          static_cast<double>(elements) * static_cast<double>(size_of(operands))};
}

SuiteShape conv_shape(const OpCase& line, DType operands, const std::vector<GpuTile>& tiles) {
  const Conv conv(line);
  GpuContraction sizes =
      sizes_of(conv.windows(), conv.filters / conv.groups, conv.depth(), operands);
  sizes.batch = conv.groups;
  const auto elements =
      conv.elements_met() + conv.filters * conv.depth() + conv.windows() * conv.filters;
  SuiteShape result{{},
                    tiles,
                    flops_of(sizes),
                    static_cast<double>(elements) * static_cast<double>(size_of(operands))};
  sizes.windows = !conv.is_pointwise();
  if (!sizes.windows) {
    result.shape_for = [sizes](const GpuTile& tile) {
      GpuContraction shape = sizes;
      shape.a_vectors = are_vectors(shape.k, tile.operands);
      shape.b_vectors = are_vectors(shape.n, tile.operands);
      return shape;
    };
    return result;
  }
  sizes.a_overlap = std::max(1.0, static_cast<double>(conv.windows() * conv.groups * conv.depth()) /
                                      static_cast<double>(conv.elements()));
  const auto dims = std::make_shared<graph::DimTable>();
  const rkernel::Problem problem = problem_of(conv, operands, *dims);
  std::erase_if(result.tiles, [](const GpuTile& tile) { return !ptx::copies_windows(tile); });
  for (GpuTile& tile : result.tiles) tile = ptx::with_windows(tile, problem);
  const rkernel::Operand& a = problem.operands.front();
  const bool strips = ptx::provably_strips(a) == true;
  result.shape_for = [sizes, problem, dims, strips](const GpuTile& tile) {
    GpuContraction shape = sizes;
    shape.a_vectors = ptx::provably_vectors(problem.operands.front(), problem.contraction->k,
                                            tile.operands) == true;
    shape.b_vectors = are_vectors(shape.n, tile.operands);
    if (const auto layout = ptx::strip_layout(problem, tile); layout && strips)
      shape.a_strips = static_cast<double>(layout->step) / layout->run;
    return shape;
  };
  return result;
}

}  // namespace dyn::testing
