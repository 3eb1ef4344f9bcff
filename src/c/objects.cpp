#include "src/c/objects.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace dyn::c {

std::chrono::steady_clock::time_point time_after(std::int64_t nanoseconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  const std::chrono::nanoseconds wait(nanoseconds);
  return wait < Clock::time_point::max() - now ? now + wait : Clock::time_point::max();
}

Options options_of(const dyn_options* options) {
  return options == nullptr ? Options() : *Used<OptionsHandle>(options);
}

RunOptions run_options_of(const dyn_run_options* options) {
  RunOptions all;
  if (options == nullptr) return all;
  const dyn_run_options given = struct_of(options, "options");
  if (given.cancellation != nullptr)
    all.cancellation = *Used<CancellationHandle>(given.cancellation);
  if (given.has_timeout) all.deadline = time_after(given.timeout_ns);
  return all;
}

NamedTensors named_tensors(std::size_t count, const dyn_named_tensor* inputs) {
  NamedTensors tensors;
  for (const dyn_named_tensor& input : required_array(inputs, count, "inputs")) {
    const std::string_view name = required_text(input.name, "inputs[].name");
    try {
      tensors.emplace_back(name, *Used<TensorHandle>(input.tensor));
    } catch (const Error& error) { throw error.within(fmt::format("input '{}'", name)); }
  }
  return tensors;
}

NamedShapes named_shapes(std::size_t count, const dyn_named_shape* shapes) {
  NamedShapes copies;
  for (const dyn_named_shape& shape : required_array(shapes, count, "inputs")) {
    copies.emplace_back(required_text(shape.name, "inputs[].name"),
                        shape_of(shape.rank, shape.sizes));
  }
  return copies;
}

void give_outputs(const Outputs& outputs, std::size_t count, dyn_tensor** places) {
  if (count != outputs.size())
    throw Error(ErrorKind::user, fmt::format("there is room for {} output(s); the model has {}",
                                             count, outputs.size()));
  try {
    for (std::size_t i = 0; i < count; ++i) make_handle<TensorHandle>(places[i], outputs[i]);
  } catch (...) {
    for (std::size_t i = 0; i < count; ++i) release_handle(Kind::tensor, places[i]);
    clear_outputs(count, places);
    throw;
  }
}

void clear_outputs(std::size_t count, dyn_tensor** places) {
  if (count > 0) check_pointer(places, alignof(dyn_tensor*), "outputs");
  std::fill_n(places, count, nullptr);
}

}  // namespace dyn::c
