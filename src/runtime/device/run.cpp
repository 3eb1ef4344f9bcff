#include "src/runtime/device/run.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::runtime {
namespace {

using rkernel::DeviceAddress;
using rkernel::DeviceBlock;
using rkernel::OperandRange;
using rkernel::Space;
using Kind = OperandSource::Kind;

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
static_assert(sizeof(DeviceAddress) == word_bytes && sizeof(std::int64_t) == word_bytes);

std::size_t status_bytes_of(const Wiring& wiring) {
  const std::size_t bytes = wiring.groups() * sizeof(std::int32_t);
  return (bytes + word_bytes - 1) / word_bytes * word_bytes;
}

/// Counts the words of the tables: the operands' addresses, that of shared memory, and the
/// launches' numbers.
std::size_t words_of(const Plan& plan, const Wiring& wiring) {
  std::size_t words = 0;
  for (std::size_t group = 0; group < wiring.groups(); ++group) {
    if (wiring.spaces[group] != Space::Device) continue;
    words += wiring.first_operand[group + 1] - wiring.first_operand[group] +
             plan.launches[group].ints.size() + (plan.launches[group].shared_bytes > 0 ? 1 : 0);
  }
  return words;
}

}  // namespace

DeviceNeeds::DeviceNeeds(const Plan& plan, const Wiring& wiring)
    : arena(std::max<std::size_t>(plan.device_arena_bytes, 1)),
      shared(plan.device_shared_bytes),
      tables(status_bytes_of(wiring) + words_of(plan, wiring) * word_bytes) {}

void DeviceRun::use_stream(rkernel::Stream* stream) {
  rkernel::Stream* const next = stream != nullptr ? stream : own_.get();
  // Memory that the own stream has allocated is there for others then.
  if (next != stream_ && next != own_.get()) own_->synchronise();
  stream_ = next;
}

void DeviceRun::reserve(DeviceBlock& block, std::size_t bytes, const char* what) {
  if (block.bytes() >= bytes && block.address() != 0) return;
  if (stream_ == own_.get()) {
    replace(block, bytes, what);
    return;
  }
  if (block.address() != 0) stream_->synchronise();  // a run that left may use the block
  replace(block, bytes, what);
  own_->synchronise();
}

void DeviceRun::replace(DeviceBlock& block, std::size_t bytes, const char* what) {
  const bool grows = block.address() != 0;
  block = DeviceBlock();  // before the new one, so that both need not fit at once
  if (grows && !share_.is_limited()) {
    // It will grow again, as a session's runs do step by step: with room, few of them allocate.
    try {
      block = DeviceBlock(*own_, bytes + bytes / 4, what);
      return;
    } catch (const Error&) {  // perhaps there is just enough
    }
  }
  block = DeviceBlock(*own_, std::max(bytes, std::size_t{1}), what);
}

void DeviceRun::find_ranges(const Plan& plan) {
  buffers_.resize(plan.device_bytes.size());
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    buffers_[i] = {arena_.address() + plan.device_offsets[i], plan.device_bytes[i], false};
  ranges_.assign(wiring_->operands.size() + wiring_->groups(), {});
  for (std::size_t group = 0; group < wiring_->groups(); ++group) {
    const std::size_t end = wiring_->first_operand[group + 1];
    for (std::size_t i = wiring_->first_operand[group]; i < end; ++i) {
      const OperandSource& source = wiring_->operands[i];
      const auto index = static_cast<std::size_t>(source.index);
      OperandRange& range = ranges_[i + group];
      if (source.kind == Kind::DeviceArena)
        range = buffers_[index];
      else if (source.kind == Kind::DeviceFixed)
        range = wiring_->device_fixed[index];
      range.written = source.written;
    }
    ranges_[end + group] = {shared_.address(), plan.launches[group].shared_bytes, true};
  }
}

void DeviceRun::find_ports() {
  port_buffers_.clear();
  port_of_buffer_.assign(buffers_.size(), -1);
  for (std::size_t i = 0; i < wiring_->transfers.size(); ++i) {
    const OperandSource &host = wiring_->operands[wiring_->first_operand.back() + i],
                        &device = wiring_->device_ends[i];
    if (host.kind != Kind::Input && host.kind != Kind::Output) continue;
    const auto port = static_cast<std::size_t>(host.index),
               buffer = static_cast<std::size_t>(device.index);
    const bool touched =
        host.kind == Kind::Input ? wiring_->inputs_on_host[port] : wiring_->outputs_on_host[port];
    if (touched || port_of_buffer_[buffer] >= 0) continue;
    port_of_buffer_[buffer] = static_cast<int>(port_buffers_.size());
    port_buffers_.push_back({buffer, host.kind, port});
  }
}

void DeviceRun::fill_tables(const Plan& plan) {
  words_.clear();
  state_slots_.clear();
  port_slots_.clear();
  for (std::size_t group = 0; group < launches_.size(); ++group) {
    if (wiring_->spaces[group] != Space::Device) continue;
    const rkernel::Launch& launch = plan.launches[group];
    const std::size_t first = wiring_->first_operand[group],
                      end = wiring_->first_operand[group + 1];
    rkernel::DeviceLaunch& made = launches_[group];
    made.function = plan.device_functions[group];
    made.name = wiring_->group_names[group].c_str();
    made.blocks = launch.tickets > 0 ? launch.grid.blocks : 0;
    made.threads = launch.grid.threads;
    made.shared_bytes = launch.grid.shared_bytes;
    const bool shares = launch.shared_bytes > 0;
    made.operands = {ranges_.data() + first + group, end - first + (shares ? 1 : 0)};
    made.pointers = tables_.address() + first_word_ + words_.size() * word_bytes;
    for (std::size_t i = first; i < end; ++i) {
      const OperandSource& source = wiring_->operands[i];
      if (source.kind == Kind::DeviceState)
        state_slots_.push_back({i + group, static_cast<std::size_t>(source.index), words_.size()});
      const int port = source.kind == Kind::DeviceArena
                           ? port_of_buffer_[static_cast<std::size_t>(source.index)]
                           : -1;
      if (port >= 0)
        port_slots_.push_back({i + group, static_cast<std::size_t>(port), words_.size()});
      words_.push_back(ranges_[i + group].begin);
    }
    if (shares) words_.push_back(shared_.address());
    made.ints = tables_.address() + first_word_ + words_.size() * word_bytes;
    for (const std::int64_t value : launch.ints)
      words_.push_back(static_cast<std::uint64_t>(value));
    made.status = tables_.address() + group * sizeof(std::int32_t);
  }
}

void DeviceRun::reserve_statuses(std::size_t groups) {
  if (statuses_.size() == groups) return;
  status_memory_ = device_.host_memory(groups * sizeof(std::int32_t));
  if (status_memory_ == nullptr) status_memory_ = std::make_shared<std::int32_t[]>(groups);
  statuses_ = {static_cast<std::int32_t*>(status_memory_.get()), groups};
}

/// Keeps on the host what runs that have left report, where the tables go.
void DeviceRun::fetch_kept_statuses() {
  if (!statuses_kept_ || tables_.address() == 0) return;
  if (left_ != nullptr) left_->wait();
  // Another thread may use the caller's stream.
  rkernel::Stream& stream = share_.is_limited() ? *own_ : *stream_;
  stream.download(statuses_.data(), tables_.address(), statuses_.size_bytes());
  stream.synchronise();
}

/// Statuses come first: they stay where they are while runs that have left report there. Without
/// tables they are on the host.
void DeviceRun::reserve_tables(std::size_t bytes) {
  const bool moves = statuses_kept_ && tables_.bytes() < bytes;
  if (moves) fetch_kept_statuses();
  try {
    reserve(tables_, bytes, "argument tables of a run");
    if (moves) stream_->upload(tables_.address(), statuses_.data(), statuses_.size_bytes());
  } catch (...) {
    if (moves) tables_ = DeviceBlock();
    throw;
  }
}

void DeviceRun::take_room(const DeviceNeeds& needs) {
  const std::size_t grown = std::max(arena_.bytes(), needs.arena) +
                            std::max(shared_.bytes(), needs.shared) +
                            std::max(tables_.bytes(), needs.tables);
  if (share_.grow_to(grown)) return;
  naming_groups([&] { give_up(); });
  share_.wait_for(needs.sum());
}

void DeviceRun::give_up() {
  fetch_kept_statuses();
  drop();
}

void DeviceRun::drop() noexcept {
  arena_ = DeviceBlock();
  shared_ = DeviceBlock();
  tables_ = DeviceBlock();
  share_.shrink_to(0);
}

void DeviceRun::reserve_memory(const Plan& plan, const DeviceNeeds& needs) {
  try {
    reserve(arena_, needs.arena, "intermediate tensors of a run");
    if (plan.device_shared_bytes > shared_.bytes()) {
      counters_are_zero_ = false;
      reserve(shared_, needs.shared, "partial sums of a run");
    }
    reserve_statuses(wiring_->groups());
    reserve_tables(needs.tables);
  } catch (...) {
    share_.shrink_to(bytes());
    throw;
  }
}

void DeviceRun::bind(const Plan& plan, const Wiring& wiring) {
  wiring_ = &wiring;
  const DeviceNeeds needs(plan, wiring);
  reserve_memory(plan, needs);
  first_word_ = status_bytes_of(wiring);
  find_ranges(plan);
  find_ports();
  launches_.assign(wiring.groups(), {});
  words_.reserve((needs.tables - first_word_) / word_bytes);
  fill_tables(plan);
  graphs_.bind(wiring, launches_);
  words_changed_ = true;
}

void DeviceRun::set_states(std::span<const StateMemory> states) {
  states_ = states;
  for (const StateSlot& slot : state_slots_) {
    const OperandRange& memory = states[slot.state].device;
    set_operand(slot.range, slot.word, memory.begin);
    ranges_[slot.range].bytes = memory.bytes;
  }
}

void DeviceRun::set_operand(std::size_t range, std::size_t word, DeviceAddress begin) {
  words_changed_ = words_changed_ || words_[word] != begin;
  words_[word] = ranges_[range].begin = begin;
}

void DeviceRun::set_ports(std::span<const PortMemory> inputs, std::span<const PortMemory> outputs) {
  const auto memory_of = [&](const PortBuffer& buffer) -> const PortMemory& {
    return buffer.kind == Kind::Input ? inputs[buffer.port] : outputs[buffer.port];
  };
  for (PortBuffer& buffer : port_buffers_) buffer.is_in_place = memory_of(buffer).on_device();
  for (const PortSlot& slot : port_slots_) {
    const PortBuffer& buffer = port_buffers_[slot.port_buffer];
    set_operand(
        slot.range, slot.word,
        buffer.is_in_place ? memory_of(buffer).device.begin : buffers_[buffer.buffer].begin);
  }
}

void DeviceRun::start(bool one_by_one) {
  graphs_.start(one_by_one);
  if (words_changed_ && !words_.empty())
    stream_->upload(tables_.address() + first_word_, words_.data(), words_.size() * word_bytes);
  words_changed_ = false;
  if (!counters_are_zero_ && shared_.address() != 0)
    stream_->clear(shared_.address(), rkernel::counter_bytes);
  counters_are_zero_ = true;
  if (!statuses_kept_) stream_->clear(tables_.address(), statuses_.size_bytes());
}

void DeviceRun::launch(std::size_t group) {
  const rkernel::DeviceLaunch& launch = launches_[group];
  if (launch.blocks <= 0) return;
  last_in_flight_ = static_cast<int>(group);
  if (first_in_flight_ == no_group) first_in_flight_ = last_in_flight_;
  try {
    if (!graphs_.launch(group, *stream_)) stream_->launch(launch);
  } catch (const Error& error) {
    throw error.within(fmt::format("launching '{}' on {}", launch.name, device_.name()));
  }
}

template <typename Work>
void DeviceRun::naming_groups(const Work& work) {
  try {
    work();
  } catch (const Error& error) { throw error.within(groups_in_flight()); }
}

void DeviceRun::copy(std::size_t transfer, void* host) {
  const Space to = wiring_->transfers[transfer].to;
  const OperandSource& end = wiring_->device_ends[transfer];
  const auto index = static_cast<std::size_t>(end.index);
  naming_groups([&] {
    if (end.kind == Kind::DeviceArena) {
      const int port = port_of_buffer_[index];
      if (port >= 0 && port_buffers_[static_cast<std::size_t>(port)].is_in_place) return;
      copy_part(to, host, buffers_[index].begin, buffers_[index].bytes);
      return;
    }
    for_each_strip(states_[index].changing, [&](std::size_t offset, std::size_t bytes) {
      copy_part(to, static_cast<std::byte*>(host) + offset, states_[index].device.begin + offset,
                bytes);
    });
  });
}

void DeviceRun::copy_port(Space to, void* host, const OperandRange& port) {
  naming_groups([&] { copy_part(to, host, port.begin, port.bytes); });
}

void DeviceRun::copy_part(Space to, void* host, DeviceAddress device, std::size_t bytes) {
  if (bytes == 0) return;
  if (to == Space::Device)
    stream_->upload(device, host, bytes);
  else
    stream_->download(host, device, bytes);
}

std::string DeviceRun::groups_in_flight() const {
  if (first_in_flight_ == no_group) return fmt::format("copying to or from {}", device_.name());
  const std::string& first = wiring_->group_names[static_cast<std::size_t>(first_in_flight_)];
  const std::string& last = wiring_->group_names[static_cast<std::size_t>(last_in_flight_)];
  if (first_in_flight_ == last_in_flight_)
    return fmt::format("running '{}' on {}", first, device_.name());
  return fmt::format("running '{}' to '{}' on {}", first, last, device_.name());
}

void DeviceRun::wait() {
  naming_groups([&] { stream_->synchronise(); });
  first_in_flight_ = last_in_flight_ = no_group;
}

void DeviceRun::leave() {
  statuses_kept_ = true;
  if (share_.is_limited()) stream_->mark(left_);
}

int DeviceRun::finish() {
  if (tables_.address() != 0) {
    naming_groups(
        [&] { stream_->download(statuses_.data(), tables_.address(), statuses_.size_bytes()); });
  }
  wait();
  statuses_kept_ = false;
  const auto failed = std::find_if(statuses_.begin(), statuses_.end(),
                                   [](std::int32_t status) { return status != 0; });
  return failed == statuses_.end() ? no_group : static_cast<int>(failed - statuses_.begin());
}

void DeviceRun::settle() noexcept {
  try {
    stream_->synchronise();
  } catch (...) {  // the failure that is being handled is the one to report
    statuses_kept_ = false;
  }
  first_in_flight_ = last_in_flight_ = no_group;
  counters_are_zero_ = false;  // a launch may have ended in the middle
}

void DeviceRun::abandon() noexcept {
  settle();
  statuses_kept_ = false;
}

}  // namespace dyn::runtime
