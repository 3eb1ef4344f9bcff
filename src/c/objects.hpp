#pragma once
// The objects that handles of the C ABI stand for.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dyn/dyn.hpp"
#include "src/c/guard.hpp"

namespace dyn::c {

using NamedShapes = std::vector<std::pair<std::string, Shape>>;

/// A device, and its name for as long as the handle.
struct NamedDevice {
  explicit NamedDevice(Device opened) : device(std::move(opened)), name(device.name()) {}
  Device device;
  std::string name;
};

/// A kernel, and the names of its operators as C has them. For a place that stays.
struct NamedKernel {
  KernelChoice choice;
  std::vector<const char*> operators;
};

using OptionsHandle = Handled<Kind::options, Options, Users::many>;
using TensorHandle = Handled<Kind::tensor, Tensor, Users::many>;
using GraphHandle = Handled<Kind::graph, Graph, Users::many>;
using PortHandle = Handled<Kind::port, PortInfo, Users::many>;
using ShapesHandle = Handled<Kind::shapes, NamedShapes, Users::many>;
using CallHandle = Handled<Kind::call, Call, Users::one>;
using SessionHandle = Handled<Kind::session, Session, Users::many>;
using DeviceHandle = Handled<Kind::device, NamedDevice, Users::many>;
using StreamHandle = Handled<Kind::stream, Stream, Users::one>;
using CoderHandle = Handled<Kind::coder, TextCoder, Users::one>;
using DimsHandle = Handled<Kind::dims, std::vector<DimInfo>, Users::many>;
using MetadataHandle = Handled<Kind::metadata, ModelMetadata, Users::many>;
using KernelsHandle = Handled<Kind::kernels, std::vector<NamedKernel>, Users::many>;
using CancellationHandle = Handled<Kind::cancellation, Cancellation, Users::many>;
using AsyncRunHandle = Handled<Kind::async_run, AsyncRun, Users::many>;
using TaskHandle = Handled<Kind::task, std::function<void()>, Users::one>;
using ProfileHandle = Handled<Kind::profile, Profile, Users::one>;
using TextsHandle = Handled<Kind::texts, std::vector<std::string>, Users::many>;

/// A copy, or every default: a load may take long, and the caller may change its options meanwhile.
Options options_of(const dyn_options* options);

/// So much later than now; the greatest time where there is none.
std::chrono::steady_clock::time_point time_after(std::int64_t nanoseconds);
/// The things that may end a run; NULL: none. A timeout counts from now.
RunOptions run_options_of(const dyn_run_options* options);

/// Tensors by name; throws Error(user) for a NULL name, and for what is no tensor, by name.
NamedTensors named_tensors(std::size_t count, const dyn_named_tensor* inputs);
NamedShapes named_shapes(std::size_t count, const dyn_named_shape* shapes);

/// A handle for each output. Throws Error(user) where the caller has no room for as many.
void give_outputs(const Outputs& outputs, std::size_t count, dyn_tensor** places);
/// The places of outputs, all NULL. Throws Error(user) where there are none.
void clear_outputs(std::size_t count, dyn_tensor** places);

}  // namespace dyn::c
