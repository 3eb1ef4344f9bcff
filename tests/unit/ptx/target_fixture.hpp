#pragma once
// Graphs as the target sees them: problems, and the facts about their buffers.

#include <memory>
#include <string>
#include <vector>

#include "graph/fusion/group.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/ptx/contraction/kernel.hpp"
#include "targets/ptx/ptx_target.hpp"

namespace dyn::ptx::testing {

struct LoweredGraph {
  std::unique_ptr<graph::Module> module;
  graph::Fusion fusion;
  std::vector<rkernel::Problem> problems;

  rkernel::BufferFacts facts() const;
  /// Values of the module's symbols by name; all must be given.
  std::vector<std::int64_t> symbols(
      const std::vector<std::pair<std::string, std::int64_t>>& values) const;
  const rkernel::Problem& contraction(
      std::size_t index = 0) const;  ///< the index-th problem with one
};

/// `text` without its first line ("dyn 1") through all passes.
LoweredGraph lowered(const std::string& text, const graph::DecomposeOptions& kept = {},
                     const graph::FuseOptions& fuse = {});

/// y[B, M, N] = a[B, M, K] b[B, K, N], all sizes symbols: nothing is known of strides.
extern const char* const product;

/// A kernel whose handles are 1 + the index of the source.
std::unique_ptr<ContractionKernel> numbered(ContractionKernel::Draft draft);

/// Keeps the sources that it is asked to load; handles are distinct, and nothing runs.
class RecordingDevice final : public PtxDevice {
 public:
  explicit RecordingDevice(choice::GpuMachine machine) : machine_(std::move(machine)) {}
  std::string name() const override { return "recording"; }
  rkernel::DeviceAddress allocate(std::size_t, std::string_view) override { return 0; }
  void release(rkernel::DeviceAddress) noexcept override {}
  std::size_t bytes_from(rkernel::DeviceAddress) const override { return 0; }
  std::unique_ptr<rkernel::Stream> make_stream() override { return nullptr; }
  const choice::GpuMachine& machine() const override { return machine_; }
  std::vector<const void*> load(std::span<const codegen::KernelSource> sources, int threads,
                                rkernel::CompileReport& report) override;

  std::vector<std::string> keys;  ///< in the order of loading; the handle of keys[i] is handle(i)
  const void* handle(std::size_t index) const { return reinterpret_cast<const void*>(index + 1); }
  int calls = 0;

 private:
  choice::GpuMachine machine_;
};

}  // namespace dyn::ptx::testing
