#pragma once
// A target with a FakeDevice: some groups run there, by an interpreter, and the rest is left to the
// fake target on the host.

#include <cstdint>
#include <functional>
#include <memory>

#include "src/rkernel/target/target.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/unit/runtime/device/fake_device.hpp"

namespace dyn::testing {

struct FakeGpu {
  std::shared_ptr<FakeDevice> device;  ///< nullptr: a GPU that is only described
  std::function<bool(std::size_t group)> on_device = [](std::size_t) { return true; };
  DType precision =
      DType::f32;  ///< dtype of f32 weights and of f32 buffers that only groups on the device touch
  double predicted_seconds = 0;        ///< of each launch
  std::function<void()> runs = [] {};  ///< called when the device carries out a launch
};

runtime::TargetFactory fake_gpu(const FakeGpu& gpu);

}  // namespace dyn::testing
