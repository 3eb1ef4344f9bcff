#include "tests/unit/ptx/contraction/matmul_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dyn/error.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "tests/support/coverage.hpp"

namespace dyn::ptx::testing {
namespace {

using rkernel::DeviceAddress;
using rkernel::DeviceBlock;

template <class T>
DeviceBlock table(Emulator& device, rkernel::Stream& stream, const std::vector<T>& values) {
  DeviceBlock block(device, std::max<std::size_t>(1, values.size()) * sizeof(T), "a table");
  stream.upload(block.address(), values.data(), values.size() * sizeof(T));
  return block;
}

std::string kernel_name(const MatmulCase& c) {
  const bool cuda = c.tile.engine == choice::Engine::CudaCores;
  return fmt::format("matmul on {}, A {}, B {}",
                     cuda                            ? "CUDA cores"
                     : c.tile.operands == DType::f32 ? "tensor cores as tf32"
                                                     : "tensor cores",
                     name_of(c.a), name_of(c.b));
}

void count_edges(const MatmulCase& c, const dyn::testing::EmulatorRun& counted) {
  const std::int64_t tickets = c.batch * ((c.m + c.tile.block_m - 1) / c.tile.block_m) *
                               ((c.n + c.tile.block_n - 1) / c.tile.block_n);
  counted.edge("cut in M", c.m % c.tile.block_m != 0);
  counted.edge("cut in N", c.n % c.tile.block_n != 0);
  counted.edge("cut in K", c.k % c.tile.block_k != 0);
  counted.edge("K = 0", c.k == 0);
  counted.edge("blocks with several tickets", tickets > c.blocks);
  counted.edge("element copies", c.a_copy == Copy::Elements || c.b_copy == Copy::Elements);
  counted.edge("copies of words", c.a_copy == Copy::Words || c.b_copy == Copy::Words);
  counted.edge("vector copies", c.a_copy == Copy::Vectors || c.b_copy == Copy::Vectors);
  counted.edge("transposed", c.transpose_a || c.transpose_b || c.transpose_output);
  counted.edge("odd strides", c.a_slack % 2 != 0 || c.b_slack % 2 != 0 || c.output_slack % 2 != 0);
  counted.edge("epilogue", c.bias || c.gelu || c.residual);
  counted.edge("two regions", c.second.has_value());
  counted.edge("shared tiles", c.shared.tiles > 0);
  counted.edge("outputs in vectors",
               !c.transpose_output && (c.n + c.output_slack) % 4 == 0 && c.n % 4 == 0);
}

}  // namespace

Emulator& emulator() {
  static const std::shared_ptr<Emulator> made =
      make_emulator({.machine = described_gpu("a100"), .cache_dir = {}});
  return *made;
}

EmulatedMatmul::EmulatedMatmul(Emulator& device, const MatmulCase& form) : device_(device) {
  const BuiltMatmul built = build(form);
  llvm::LLVMContext context;
  load(*emit_device_module(context, source_of(built), "matmul"));
}

EmulatedMatmul::EmulatedMatmul(Emulator& device, const llvm::Module& module) : device_(device) {
  load(module);
}

void EmulatedMatmul::load(const llvm::Module& module) {
  function_ = device_.load_module(module);
  shape_ = kernel_shape(module);
}

Bytes EmulatedMatmul::run(const MatmulCase& c, const std::vector<Bytes>& buffers) const {
  const dyn::testing::EmulatorRun counted(kernel_name(c));
  count_edges(c, counted);
  const std::unique_ptr<rkernel::Stream> stream = device_.make_stream();
  std::vector<DeviceBlock> blocks;
  std::vector<DeviceAddress> addresses;
  std::vector<rkernel::OperandRange> ranges;
  for (const Bytes& buffer : buffers) {
    const bool last = addresses.size() + 1 == buffers.size();
    if (!last || !c.in_place) blocks.push_back(table(device_, *stream, buffer));
    addresses.push_back(blocks.back().address());
    ranges.push_back({addresses.back(), buffer.size(), last});
  }
  const std::size_t shared_bytes = c.split ? shared_bytes_of(c) : 0;
  std::vector<std::byte> zeros(shared_bytes);
  const DeviceBlock shared = table(device_, *stream, zeros);
  if (c.split) {
    addresses.push_back(shared.address());
    ranges.push_back({shared.address(), shared_bytes, true});
  }
  const DeviceBlock pointers = table(device_, *stream, addresses),
                    ints = table(device_, *stream, ints_of(c, build(c))),
                    status = table(device_, *stream, std::vector<std::int32_t>{0});
  rkernel::DeviceLaunch launch;
  launch.function = function_;
  launch.name = "matmul";
  launch.blocks = c.blocks;
  launch.threads = shape_.threads;
  launch.shared_bytes = shape_.shared_bytes;
  launch.pointers = pointers.address();
  launch.ints = ints.address();
  launch.status = status.address();
  launch.operands = ranges;
  stream->launch(launch);
  Bytes output(buffers.back().size());
  stream->download(output.data(), ranges[buffers.size() - 1].begin, output.size());
  std::vector<std::byte> counters(c.split ? rkernel::counter_bytes : 0, std::byte{1});
  if (c.split) stream->download(counters.data(), shared.address(), counters.size());
  stream->synchronise();
  if (std::ranges::count(counters, std::byte{0}) != std::ssize(counters))
    throw Error(ErrorKind::internal, "counters are not 0 after the launch");
  return output;
}

}  // namespace dyn::ptx::testing
