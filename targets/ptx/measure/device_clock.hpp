#pragma once
// Times the main loops of tiles by launches of a matrix product on a device.

#include <memory>

#include "dyn/dtype.hpp"
#include "targets/ptx/ir/ptx_device.hpp"
#include "targets/ptx/measure/stage_times.hpp"

namespace dyn::ptx {

/// `precision`: what the target multiplies in. Operands are random, and stay in L2 where it holds
/// them. Each tile's kernel is compiled at its first launch. launch_seconds() throws Error(device)
/// where the device fails, and Error(internal) where it has no clock.
std::unique_ptr<StageClock> make_device_clock(PtxDevice& device, DType precision);

}  // namespace dyn::ptx
