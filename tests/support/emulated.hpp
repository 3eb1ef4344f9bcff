#pragma once
// Runs device kernels on the emulator, on buffers of the test.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "targets/ptx/emulator/emulator.hpp"

namespace dyn::test {

/// One operand; `data` is uploaded before a launch, and downloaded afterwards where it is written.
struct EmulatedBuffer {
  void* data = nullptr;
  std::size_t bytes = 0;
  bool written = false;
};
template <class Container>
EmulatedBuffer read_buffer(Container& values) {
  return {values.data(), values.size() * sizeof(values[0]), false};
}
template <class Container>
EmulatedBuffer written_buffer(Container& values) {
  return {values.data(), values.size() * sizeof(values[0]), true};
}

/// A GPU of compute capability 8.0 for tests.
choice::GpuMachine emulated_machine();

class Emulated {
 public:
  explicit Emulated(const ptx::EmulatorOptions& options = {emulated_machine(), std::size_t{1} << 30,
                                                           ""});

  ptx::Emulator& emulator() { return *emulator_; }
  /// The reports of one launch. A launch that is refused is reported too.
  std::vector<ptx::FaultReport> launch(const void* function, std::int64_t blocks, int threads,
                                       int shared_bytes, std::span<const EmulatedBuffer> buffers,
                                       std::span<const std::int64_t> ints = {});
  /// The status that the last launch left.
  std::int32_t status() const { return status_; }

 private:
  std::shared_ptr<ptx::Emulator> emulator_;
  std::int32_t status_ = 0;
};

/// The reports as text, one to a line.
std::string text_of(const std::vector<ptx::FaultReport>& reports);

}  // namespace dyn::test
