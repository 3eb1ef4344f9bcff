#include "tests/unit/ptx/device_run.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "targets/ptx/gpus/gpu_descriptions.hpp"

namespace dyn::ptx::testing {
namespace {

// To nearest, ties to even; the values of these tests are neither NaN nor beyond f16's normal
// numbers.
std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::fabs(value) < 6.2e-5f) return static_cast<std::uint16_t>(bits >> 31 << 15);
  const std::uint32_t rounded = bits + 0xfff + ((bits >> 13) & 1);
  return static_cast<std::uint16_t>((rounded >> 31 << 15) |
                                    (((rounded >> 13) & 0x3ffff) - (112u << 10)));
}

std::vector<std::byte> as_stored(const Floats& floats, DType dtype) {
  std::vector<std::byte> bytes(floats.size() * size_of(dtype));
  if (dtype == DType::f32) {
    if (!floats.empty()) std::memcpy(bytes.data(), floats.data(), bytes.size());
    return bytes;
  }
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const std::uint16_t half = dtype == DType::bf16 ? to_bf16(floats[i]) : to_f16(floats[i]);
    std::memcpy(bytes.data() + 2 * i, &half, sizeof half);
  }
  return bytes;
}

}  // namespace

/// All buffers of a graph, f32, inputs and weights random.
std::map<graph::ValueId, Floats> buffers_of(const LoweredGraph& graph, const Symbols& symbols,
                                            std::mt19937_64& random) {
  std::map<graph::ValueId, Floats> buffers;
  std::normal_distribution<float> normal;
  for (const rkernel::Problem& problem : graph.problems) {
    for (const rkernel::Operand& operand : problem.operands) {
      if (buffers.count(operand.buffer) > 0) continue;
      const graph::Value& value = graph.module->value(operand.buffer);
      std::int64_t count = 1;
      for (const graph::Dim dim : value.type.dims) count *= graph::evaluate(dim, symbols);
      Floats& floats = buffers[operand.buffer];
      floats.resize(static_cast<std::size_t>(count));
      const bool weight = value.kind == graph::ValueKind::Weight;
      for (float& element : floats)
        element = normal(random) * (weight ? 0.25f : 1.0f) + (weight ? 0.01f : 0.1f);
    }
  }
  return buffers;
}

DeviceRun::DeviceRun(const rkernel::Target& target, const LoweredGraph& graph,
                     const std::map<graph::ValueId, Floats>& initial)
    : target_(target), device_(target.device()), stream_(device_->make_stream()) {
  for (const rkernel::Problem& problem : graph.problems) {
    for (const rkernel::Operand& operand : problem.operands) {
      if (blocks_.count(operand.buffer) > 0) continue;
      const std::vector<std::byte> bytes = as_stored(initial.at(operand.buffer), operand.dtype);
      auto& block = blocks_
                        .emplace(operand.buffer,
                                 rkernel::DeviceBlock(
                                     *device_, std::max<std::size_t>(bytes.size(), 1), "a test"))
                        .first->second;
      sizes_[operand.buffer] = bytes.size();
      stream_->upload(block.address(), bytes.data(), bytes.size());
    }
  }
}

void DeviceRun::run(const rkernel::Problem& problem, const rkernel::Kernel& kernel,
                    const Symbols& symbols) {
  const rkernel::Launch launch = kernel.plan({symbols, 1});
  if (launch.tickets > 0) run(problem, launch, target_.load({&launch.grid.function, 1}).front());
}

void DeviceRun::run(const rkernel::Problem& problem, const rkernel::Launch& launch,
                    const void* function) {
  if (launch.tickets == 0) return;
  std::vector<rkernel::DeviceAddress> pointers;
  std::vector<rkernel::OperandRange> ranges;
  for (const rkernel::Operand& operand : problem.operands) {
    pointers.push_back(blocks_.at(operand.buffer).address());
    ranges.push_back({pointers.back(), sizes_.at(operand.buffer), operand.written});
  }
  const rkernel::DeviceBlock shared(*device_, std::max<std::size_t>(1, launch.shared_bytes),
                                    "partial sums");
  if (launch.shared_bytes > 0) {
    pointers.push_back(shared.address());
    ranges.push_back({shared.address(), launch.shared_bytes, true});
    stream_->clear(shared.address(), rkernel::counter_bytes);
  }
  const rkernel::DeviceBlock pointer_block(*device_, pointers.size() * sizeof pointers[0],
                                           "pointers");
  const rkernel::DeviceBlock int_block(
      *device_, std::max<std::size_t>(1, launch.ints.size()) * sizeof launch.ints[0], "ints");
  const rkernel::DeviceBlock status(*device_, sizeof(std::int32_t), "status");
  stream_->upload(pointer_block.address(), pointers.data(), pointers.size() * sizeof pointers[0]);
  stream_->upload(int_block.address(), launch.ints.data(),
                  launch.ints.size() * sizeof launch.ints[0]);
  stream_->clear(status.address(), sizeof(std::int32_t));
  rkernel::DeviceLaunch call;
  call.function = function;
  call.name = problem.name.c_str();
  call.blocks = launch.grid.blocks;
  call.threads = launch.grid.threads;
  call.shared_bytes = launch.grid.shared_bytes;
  call.pointers = pointer_block.address();
  call.ints = int_block.address();
  call.status = status.address();
  call.operands = ranges;
  stream_->launch(call);
  stream_->synchronise();
}

Floats DeviceRun::output(graph::ValueId base) {
  Floats floats(sizes_.at(base) / sizeof(float));
  stream_->download(floats.data(), blocks_.at(base).address(), sizes_.at(base));
  stream_->synchronise();
  return floats;
}

std::shared_ptr<Emulator> emulator_with(int multiprocessors) {
  static std::map<int, std::shared_ptr<Emulator>> emulators;
  std::shared_ptr<Emulator>& emulator = emulators[multiprocessors];
  if (!emulator) {
    dyn::choice::GpuMachine machine = described_gpu("a100");
    machine.multiprocessors = multiprocessors;
    emulator = make_emulator({.machine = machine, .cache_dir = ""});
  }
  return emulator;
}

}  // namespace dyn::ptx::testing
