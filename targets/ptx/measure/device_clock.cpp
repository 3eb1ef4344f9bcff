#include "targets/ptx/measure/device_clock.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "dyn/error.hpp"
#include "graph/dims/dim.hpp"
#include "targets/ptx/contraction/kernel.hpp"
#include "targets/ptx/measure/product_problem.hpp"

namespace dyn::ptx {
namespace {

using choice::GpuTile;
using rkernel::DeviceBlock;

struct Sizes {
  std::int64_t m = 0, n = 0, k = 0;
};

/// As many blocks as stand on a GPU at once, or nearly: in a square, so that they share operands.
Sizes sizes_of(const GpuTile& tile, std::int64_t blocks, std::int64_t k) {
  const auto rows =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::sqrt(static_cast<double>(blocks))));
  return {rows * tile.block_m, blocks / rows * tile.block_n, k};
}

/// Finite numbers of this dtype: units draw less power, and run faster, on zeros.
std::vector<std::byte> random_elements(DType dtype, std::size_t bytes) {
  std::mt19937 random(1);
  std::vector<std::byte> elements(bytes);
  for (std::size_t i = 0; i + sizeof(std::uint32_t) <= bytes; i += sizeof(std::uint32_t)) {
    // The exponent's upper bit is 0, so that no element is infinite or NaN.
    const std::uint32_t mask = size_of(dtype) == 2 ? 0xbfffbfffu : 0xbfffffffu,
                        word = static_cast<std::uint32_t>(random()) & mask;
    std::copy_n(reinterpret_cast<const std::byte*>(&word), sizeof word, &elements[i]);
  }
  return elements;
}

class DeviceClock final : public StageClock {
 public:
  DeviceClock(PtxDevice& device, DType precision)
      : device_(device), precision_(precision), stream_(device.make_stream()) {}

  double launch_seconds(const GpuTile& tile, int resident, std::int64_t k) override {
    const Sizes sizes =
        sizes_of(tile, std::int64_t{device_.machine().multiprocessors} * resident, k);
    graph::DimTable dims;
    auto draft = ContractionKernel::draft(
        product_problem(tile.operands, dims.constant(sizes.m), dims.constant(sizes.n),
                        dims.constant(sizes.k)),
        device_.machine(), precision_, {tile}, device_.name(), rkernel::Policy::Dyn, {}, false);
    if (!draft) throw Error(ErrorKind::internal, "no kernel for the timed product");
    rkernel::CompileReport report;
    auto functions = device_.load(draft->sources(), 1, report);
    const auto kernel = (*std::move(draft)).with_code(std::move(functions));
    const rkernel::Launch launch = kernel->plan({{}, 1});
    return seconds(launch, sizes, tile.operands);
  }

 private:
  template <class T>
  DeviceBlock sent(const std::vector<T>& values, const char* what) {
    DeviceBlock block(device_, values.size() * sizeof(T), what);
    stream_->upload(block.address(), values.data(), values.size() * sizeof(T));
    return block;
  }

  double seconds(const rkernel::Launch& launch, const Sizes& sizes, DType dtype) {
    std::vector<DeviceBlock> memory;
    std::vector<rkernel::OperandRange> ranges;
    std::vector<rkernel::DeviceAddress> addresses;
    for (const auto& [rows, columns] :
         {std::pair(sizes.m, sizes.k), std::pair(sizes.k, sizes.n), std::pair(sizes.m, sizes.n)}) {
      const std::size_t bytes = static_cast<std::size_t>(rows * columns) * size_of(dtype);
      memory.push_back(sent(random_elements(dtype, bytes), "operands to time stages with"));
      addresses.push_back(memory.back().address());
      ranges.push_back({addresses.back(), bytes, memory.size() == 3});
    }
    const std::vector<std::int64_t> numbers(launch.ints.begin(), launch.ints.end());
    const DeviceBlock pointers = sent(addresses, "pointers"), ints = sent(numbers, "numbers"),
                      status = sent(std::vector<std::int32_t>{0}, "a status");
    stream_->synchronise();
    const rkernel::Grid& grid = launch.grid;
    const rkernel::DeviceLaunch call{grid.function,  "timed product",   grid.blocks,
                                     grid.threads,   grid.shared_bytes, pointers.address(),
                                     ints.address(), status.address(),  ranges};
    device_.launch_seconds(call);  // fills L2
    if (const std::optional<double> seconds = device_.launch_seconds(call)) return *seconds;
    throw Error(ErrorKind::internal, device_.name() + " has no clock");
  }

  PtxDevice& device_;
  DType precision_;
  std::unique_ptr<rkernel::Stream> stream_;
};

}  // namespace

std::unique_ptr<StageClock> make_device_clock(PtxDevice& device, DType precision) {
  return std::make_unique<DeviceClock>(device, precision);
}

}  // namespace dyn::ptx
