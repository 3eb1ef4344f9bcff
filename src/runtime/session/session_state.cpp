#include "src/runtime/session/session_state.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "src/runtime/executables/executable.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {
namespace {

std::size_t to_bytes(DType dtype, const Shape& shape) {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(static_cast<std::size_t>(element_count(shape)), size_of(dtype),
                              &bytes))
    return bytes;
  user_error(
      fmt::format("a state of shape {} has more bytes than can be addressed", to_string(shape)));
}

}  // namespace

SessionState::SessionState(std::shared_ptr<const Model> model,
                           const std::map<std::string, std::int64_t>& dims)
    : model_(std::move(model)),
      module_(model_->module()),
      symbols_(model_->executable().binder().bind_session(dims)) {
  lay_out();
}

void SessionState::lay_out() {
  std::vector<std::size_t> offsets;
  std::size_t total = 0;
  for (const graph::AppendedState& state : model_->executable().states()) {
    const graph::TensorType& type = module_.value(state.state).type;
    Layout layout;
    for (const graph::Dim dim : type.dims) layout.shape.push_back(graph::evaluate(dim, symbols_));
    const auto axis = static_cast<std::size_t>(state.axis);
    layout.bytes = to_bytes(type.dtype, layout.shape);
    layout.positions = layout.shape.empty() ? 1 : layout.shape[axis];
    for (std::size_t i = 0; i < axis; ++i) layout.blocks *= layout.shape[i];
    if (layout.bytes > 0)
      layout.position_bytes =
          layout.bytes / static_cast<std::size_t>(layout.blocks * layout.positions);
    layout.at_length = state.at_length;
    offsets.push_back(total);
    const std::size_t padded =
        (layout.bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
    if (padded < layout.bytes || __builtin_add_overflow(total, padded, &total))
      user_error("the states have more bytes than can be addressed");
    layouts_.push_back(std::move(layout));
  }
  if (total > 0) memory_ = MemoryBlock(total, "the states of a session");
  for (const std::size_t offset : offsets) pointers_.push_back(memory_.data() + offset);
}

SessionState::Turn::Turn(SessionState& session) : session_(session) {
  if (session.busy_.exchange(true, std::memory_order_acquire)) {
    user_error(
        "the session is in use by another thread; one run at a time, or a session for each thread");
  }
}

SessionState::Turn::~Turn() {
  if (writing_) session_.clear(session_.length(), session_.length() + growth_);
  session_.busy_.store(false, std::memory_order_release);
}

void SessionState::Turn::begin(std::span<const std::int64_t> symbols) {
  const graph::Module& module = session_.module_;
  growth_ = module.growth.valid() ? graph::evaluate(module.growth, symbols) : 0;
  writing_ = true;
}

void SessionState::Turn::finish() {
  writing_ = false;
  if (!session_.held_) session_.set_length(session_.length() + growth_);
}

void SessionState::set_length(std::int64_t length) {
  length_.store(length, std::memory_order_relaxed);
  const graph::Dim symbol = module_.length;
  if (symbol.valid()) symbols_[static_cast<std::size_t>(*symbol.symbol())] = length;
}

void SessionState::clear(std::int64_t first, std::int64_t last) {
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const Layout& layout = layouts_[i];
    last = std::min(last, layout.positions);
    if (!layout.at_length || layout.bytes == 0 || first >= last) continue;
    const std::size_t stride = static_cast<std::size_t>(layout.positions) * layout.position_bytes;
    auto* start = static_cast<std::byte*>(pointers_[i]) +
                  static_cast<std::size_t>(first) * layout.position_bytes;
    for (std::int64_t block = 0; block < layout.blocks; ++block, start += stride) {
      std::memset(start, 0, static_cast<std::size_t>(last - first) * layout.position_bytes);
    }
  }
}

void SessionState::truncate(std::int64_t length) {
  const Turn turn(*this);
  if (length < 0 || length > this->length()) {
    user_error(
        fmt::format("a session of length {} cannot be truncated to {}", this->length(), length));
  }
  clear(length, this->length());
  set_length(length);
}

void SessionState::reset() {
  const Turn turn(*this);
  clear(0, length());
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    if (!layouts_[i].at_length && layouts_[i].bytes > 0)
      std::memset(pointers_[i], 0, layouts_[i].bytes);
  }
  set_length(0);
}

void SessionState::hold_at(std::int64_t length) {
  const Turn turn(*this);
  for (const Layout& layout : layouts_) {
    if (layout.at_length && length > layout.positions) {
      user_error(fmt::format("a session with room for {} positions cannot have {}",
                             layout.positions, length));
    }
  }
  set_length(length);
  held_ = true;
}

std::size_t SessionState::bytes_below(std::int64_t length) const {
  std::size_t bytes = 0;
  for (const Layout& layout : layouts_) {
    const std::int64_t positions =
        layout.at_length ? std::min(length, layout.positions) : layout.positions;
    bytes += static_cast<std::size_t>(layout.blocks * positions) * layout.position_bytes;
  }
  return bytes;
}

std::vector<Tensor> SessionState::tensors() const {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const DType dtype = module_.value(module_.states[i]).type.dtype;
    tensors.push_back(layouts_[i].bytes > 0 ? Tensor::view(dtype, pointers_[i], layouts_[i].shape)
                                            : Tensor(dtype, layouts_[i].shape));
  }
  return tensors;
}

}  // namespace dyn::runtime
