#pragma once
// One launch of a kernel on buffers of a check.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dyn/error.hpp"
#include "targets/ptx/ir/ptx_device.hpp"

namespace dyn::gpu_check {

template <class T>
rkernel::DeviceBlock table(ptx::PtxDevice& device, rkernel::Stream& stream,
                           const std::vector<T>& values) {
  rkernel::DeviceBlock block(device, std::max<std::size_t>(1, values.size()) * sizeof(T),
                             "a table");
  stream.upload(block.address(), values.data(), values.size() * sizeof(T));
  return block;
}

/// Only what a kernel is launched with; the addresses are this function's.
struct CheckedLaunch {
  const void* function = nullptr;
  const char* name = "";
  std::int64_t blocks = 0;
  int threads = 0, shared_bytes = 0;
  std::size_t part_memory = 0;  ///< rkernel::Launch::shared_bytes
};

/// The bytes of the last buffer, which alone is written. Throws Error(internal) where counters of
/// the memory that blocks share are not 0 afterwards.
template <class Bytes>
Bytes run_kernel(ptx::PtxDevice& device, const CheckedLaunch& launch,
                 const std::vector<Bytes>& buffers, const std::vector<std::int64_t>& ints) {
  const auto stream = device.make_stream();
  std::vector<rkernel::DeviceBlock> blocks;
  std::vector<rkernel::DeviceAddress> addresses;
  std::vector<rkernel::OperandRange> ranges;
  for (const Bytes& buffer : buffers) {
    blocks.push_back(table(device, *stream, buffer));
    addresses.push_back(blocks.back().address());
    ranges.push_back({addresses.back(), buffer.size(), ranges.size() + 1 == buffers.size()});
  }
  const rkernel::DeviceBlock parts(device, std::max<std::size_t>(1, launch.part_memory),
                                   "parts of tiles");
  if (launch.part_memory > 0) {
    stream->clear(parts.address(), rkernel::counter_bytes);
    addresses.push_back(parts.address());
    ranges.push_back({parts.address(), launch.part_memory, true});
  }
  const rkernel::DeviceBlock pointers = table(device, *stream, addresses),
                             numbers = table(device, *stream, ints),
                             status = table(device, *stream, std::vector<std::int32_t>{0});
  stream->launch({launch.function, launch.name, launch.blocks, launch.threads, launch.shared_bytes,
                  pointers.address(), numbers.address(), status.address(), ranges});
  Bytes output(buffers.back().size());
  stream->download(output.data(), addresses[buffers.size() - 1], output.size());
  std::vector<std::uint8_t> counters(launch.part_memory > 0 ? rkernel::counter_bytes : 0, 1);
  stream->download(counters.data(), parts.address(), counters.size());
  stream->synchronise();
  if (std::ranges::count(counters, 0) != std::ssize(counters))
    throw Error(ErrorKind::internal, "counters are not 0 after the launch");
  return output;
}

inline const void* load_one(ptx::PtxDevice& device, const codegen::KernelSource& source) {
  rkernel::CompileReport report;
  return device.load(std::span(&source, 1), 1, report).front();
}

struct Tally {
  int runs = 0, failures = 0, same_bits = 0;
  double worst = 0;  ///< error over its bound
};

}  // namespace dyn::gpu_check
