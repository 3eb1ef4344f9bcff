#pragma once
// A stream that has finished all work by the time a call returns.

#include <memory>

#include "src/rkernel/target/device.hpp"

namespace dyn::ptx::emulation {

class EmulatedMemory;
class Launcher;

std::unique_ptr<rkernel::Stream> make_stream(std::shared_ptr<EmulatedMemory> memory,
                                             std::shared_ptr<Launcher> launcher);

std::unique_ptr<rkernel::LaunchGraph> make_graph(std::span<const rkernel::DeviceLaunch> launches);

}  // namespace dyn::ptx::emulation
