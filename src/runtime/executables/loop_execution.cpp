#include "src/runtime/executables/loop_execution.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/runtime/device/device_tensor.hpp"
#include "src/runtime/profile/profile_builder.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {
namespace {

/// A new place for an input costs a look at all ports: fewer bytes are copied to the old one.
constexpr std::size_t few_bytes = 4096;
/// Slices that a stack has room for at first, where nobody knows how many steps there will be.
constexpr std::int64_t first_room = 16;

Shape shape_of_slice(const Tensor& stacked) {
  return {stacked.shape().begin() + 1, stacked.shape().end()};
}

Shape stacked(std::int64_t count, const Shape& slice) {
  Shape shape{count};
  shape.insert(shape.end(), slice.begin(), slice.end());
  return shape;
}

std::size_t bytes_of_shape(DType dtype, const Shape& shape) {
  return static_cast<std::size_t>(element_count(shape)) * size_of(dtype);
}

const std::byte* bytes_of(const Tensor& tensor) {
  return static_cast<const std::byte*>(tensor.raw());
}

void copy(const void* from, void* to, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

LoopExecution::Side::Side(const std::shared_ptr<const Model>& body)
    : call(body), step(DType::i64, {}), condition(DType::boolean, {}) {}

LoopExecution::LoopExecution(const std::shared_ptr<const Model>& body,
                             const graph::LoopPlaces& places, std::string place,
                             std::int64_t most_steps)
    : places_(places),
      place_(std::move(place)),
      most_steps_(most_steps),
      allocator_(body->options().allocator),
      sides_{Side(body), Side(body)},
      stacks_(places.collected) {}

std::int64_t LoopExecution::count_of(std::span<const Tensor> operands) const {
  const std::int64_t most = operands[graph::LoopPlaces::steps].data<std::int64_t>()[0];
  for (std::size_t i = places_.first_scanned(); i < places_.first_captured(); ++i) {
    if (operands[i].shape()[0] != most)
      user_error(fmt::format("{}: it goes over {} slices of one tensor, and {} of another", place_,
                             most, operands[i].shape()[0]));
  }
  return std::max<std::int64_t>(most, 0);
}

/// Inputs that stay for all steps.
void LoopExecution::prepare(Side& side, std::span<const Tensor> operands) {
  side.call.drop_outputs();
  *static_cast<std::uint8_t*>(side.condition.raw()) = 1;
  side.call.set_input(graph::LoopPlaces::steps, side.step);
  side.call.set_input(graph::LoopPlaces::condition, side.condition);
  side.slices.assign(places_.scanned, Tensor());
  for (std::size_t i = 0; i < places_.scanned; ++i) {
    const Tensor& whole = operands[places_.first_scanned() + i];
    Shape shape = shape_of_slice(whole);
    if (bytes_of_shape(whole.dtype(), shape) > few_bytes) continue;
    side.slices[i] = Tensor(whole.dtype(), std::move(shape));
    side.call.set_input(places_.first_scanned() + i, side.slices[i]);
  }
  for (std::size_t i = places_.first_captured(); i < places_.inputs(); ++i)
    side.call.set_input(i, operands[i]);
}

/// From the third step on the other side's results stand where they stood before, as long as they
/// keep their shapes.
void LoopExecution::give_carried(Side& side, const Side& other, std::span<const Tensor> operands,
                                 std::int64_t step) {
  for (std::size_t i = 0; i < places_.carried; ++i) {
    const std::size_t input = graph::LoopPlaces::first + i;
    const Tensor& next =
        step == 0 ? operands[input] : other.call.output(places_.first_output() + i);
    const Tensor& last = side.call.input(input);
    if (step < 2 || last.raw() != next.raw() || last.shape() != next.shape())
      side.call.set_input(input, next);
  }
}

void LoopExecution::give_slices(Side& side, std::span<const Tensor> operands, std::int64_t step) {
  for (std::size_t i = 0; i < places_.scanned; ++i) {
    const Tensor& whole = operands[places_.first_scanned() + i];
    Tensor& slice = side.slices[i];
    if (!slice.empty()) {
      copy(bytes_of(whole) + static_cast<std::size_t>(step) * slice.bytes(), slice.raw(),
           slice.bytes());
      continue;
    }
    Shape shape = shape_of_slice(whole);
    const std::size_t bytes = bytes_of_shape(whole.dtype(), shape);
    side.call.set_input(
        places_.first_scanned() + i,
        Tensor::view(whole.dtype(), bytes_of(whole) + static_cast<std::size_t>(step) * bytes,
                     std::move(shape)));
  }
}

void LoopExecution::collect(const Side& side, std::int64_t step, std::int64_t most) {
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    const Tensor& slice = side.call.output(places_.first_output() + places_.carried + i);
    Stack& stack = stacks_[i];
    if (step > 0 && !std::equal(stack.slices.shape().begin() + 1, stack.slices.shape().end(),
                                slice.shape().begin(), slice.shape().end()))
      user_error(fmt::format("{}: step {} makes a slice {}, and those before it {}", place_, step,
                             to_string(slice.shape()), to_string(shape_of_slice(stack.slices))));
    if (step == stack.room) {
      const bool is_known = !places_.conditional && most <= most_steps_;
      stack.room = is_known ? most : std::min(most, std::max(first_room, 2 * step));
      Tensor larger =
          new_host_tensor(allocator_, slice.dtype(), stacked(stack.room, slice.shape()));
      if (step > 0)
        copy(stack.slices.raw(), larger.raw(), static_cast<std::size_t>(step) * slice.bytes());
      stack.slices = std::move(larger);
    }
    copy(slice.raw(),
         static_cast<std::byte*>(stack.slices.raw()) +
             static_cast<std::size_t>(step) * slice.bytes(),
         slice.bytes());
  }
}

/// The next run has other operands; these and the results are their owners'.
void LoopExecution::release() {
  for (Side& side : sides_) {
    for (std::size_t i = graph::LoopPlaces::first; i < places_.inputs(); ++i)
      side.call.set_input(i, Tensor());
    side.call.drop_outputs();
  }
  stacks_.assign(stacks_.size(), Stack());
}

LoopExecution::Results LoopExecution::run(std::span<const Tensor> operands,
                                          const RunControl* control, ProfileBuilder* builder) {
  struct Release {
    LoopExecution& loop;
    ~Release() { loop.release(); }
  } const at_end{*this};
  const std::int64_t most = count_of(operands);
  const auto is_true = [](const Tensor& flag) {
    return *static_cast<const std::uint8_t*>(flag.raw()) != 0;
  };
  bool goes_on = is_true(operands[graph::LoopPlaces::condition]);
  for (Side& side : sides_) prepare(side, operands);
  Results results;
  std::int64_t& step = results.steps;
  for (; goes_on && step < most; ++step) {
    if (step == most_steps_)
      user_error(
          fmt::format("{}: it has not ended after {} steps, which is the most that "
                      "Options::max_loop_steps allows",
                      place_, step));
    Side &side = sides_[static_cast<std::size_t>(step % 2)],
         &other = sides_[static_cast<std::size_t>(1 - step % 2)];
    *static_cast<std::int64_t*>(side.step.raw()) = step;
    try {
      check(control, [] { return "a loop"; });
      give_carried(side, other, operands, step);
      give_slices(side, operands, step);
      RunProfile part = builder != nullptr ? builder->part() : RunProfile();
      side.call.run(
          RunRequest{.profile = builder != nullptr ? &part : nullptr, .control = control});
    } catch (const Error& error) { throw error.within(fmt::format("step {} of {}", step, place_)); }
    if (places_.conditional) goes_on = is_true(side.call.output(0));
    collect(side, step, most);
  }
  for (std::size_t i = 0; i < places_.carried; ++i)
    results.carried.push_back(step == 0
                                  ? operands[graph::LoopPlaces::first + i]
                                  : sides_[static_cast<std::size_t>((step - 1) % 2)].call.output(
                                        places_.first_output() + i));
  for (Stack& stack : stacks_) {
    if (stack.room > step) {
      Tensor exact = new_host_tensor(allocator_, stack.slices.dtype(),
                                     stacked(step, shape_of_slice(stack.slices)));
      copy(stack.slices.raw(), exact.raw(), exact.bytes());
      stack.slices = std::move(exact);
    }
    results.collected.push_back(std::move(stack.slices));
  }
  return results;
}

}  // namespace dyn::runtime
