#include "src/c/handles.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::c {
namespace {

static_assert(sizeof(void*) == sizeof(std::uint64_t));

/// A slot's word, from the upper half down: how often the slot was given out before; whether its
/// handle is live, and has one user at a time; the kind; how many uses there are.
constexpr int generation_shift = 32, kind_shift = 24;
constexpr std::uint64_t live_bit = std::uint64_t{1} << 31;
constexpr std::uint64_t one_user_bit = std::uint64_t{1} << 30;
constexpr std::uint64_t users_mask = (std::uint64_t{1} << kind_shift) - 1;

std::uint32_t generation_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> generation_shift);
}
std::uint64_t bits_of(Kind kind) noexcept {
  return live_bit | static_cast<std::uint64_t>(kind) << kind_shift;
}
constexpr std::uint64_t kind_mask = live_bit | (one_user_bit - 1 - users_mask);

struct Slot {
  std::atomic<std::uint64_t> word{0};
  std::unique_ptr<Object>
      object;  ///< touched by uses, and between the last one and the next handle
};

constexpr std::uint32_t slots_of_chunk = 1024;
constexpr std::uint32_t most_chunks = 1 << 14;

/// A handle: generation, slot, and four bits that no address of an object ends with.
constexpr int tag_bits = 4;
constexpr std::uint64_t tag = 0xb;

/// Chunks stay for the process: a handle that comes too late still finds the word that refuses it.
struct Slots {
  std::array<std::atomic<Slot*>, most_chunks> chunks{};
  std::mutex mutex;  ///< of the two below, and of new chunks
  std::vector<std::uint32_t> free;
  std::uint32_t count = 0;

  Slot* find(std::uint32_t index) const noexcept {
    if (index >= slots_of_chunk * most_chunks) return nullptr;
    Slot* const chunk = chunks[index / slots_of_chunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk + index % slots_of_chunk;
  }
  /// A slot that is nobody's.
  std::uint32_t take();
  void give_back(std::uint32_t index) noexcept;
};

/// Never destroyed: handles may outlive the statics of this library.
Slots& slots() {
  static Slots& all = *new Slots;
  return all;
}

std::uint32_t Slots::take() {
  const std::lock_guard lock(mutex);
  if (!free.empty()) {
    const std::uint32_t index = free.back();
    free.pop_back();
    return index;
  }
  if (count == slots_of_chunk * most_chunks)
    throw Error(ErrorKind::device, fmt::format("{} handles are in use, and there are no more; "
                                               "release those that are not needed",
                                               count));
  if (count % slots_of_chunk == 0) {
    // Room for all of them, so that giving one back never fails.
    free.reserve(count + slots_of_chunk);
    chunks[count / slots_of_chunk].store(new Slot[slots_of_chunk], std::memory_order_release);
  }
  return count++;
}

void Slots::give_back(std::uint32_t index) noexcept {
  const std::lock_guard lock(mutex);
  free.push_back(index);
}

struct Name {
  std::uint32_t index, generation;
  bool is_handle;
};
Name name_in(const void* handle) noexcept {
  const auto bits = reinterpret_cast<std::uint64_t>(handle);
  const auto low = static_cast<std::uint32_t>(bits);
  return {low >> tag_bits, static_cast<std::uint32_t>(bits >> generation_shift),
          (bits & ((1U << tag_bits) - 1)) == tag};
}
void* handle_of(std::uint32_t index, std::uint32_t generation) noexcept {
  return reinterpret_cast<void*>(std::uint64_t{generation} << generation_shift |
                                 std::uint64_t{index} << tag_bits | tag);
}

[[noreturn]] void refuse(Kind kind, const void* handle, std::string_view why) {
  const std::string_view name = name_of(kind);
  throw Error(ErrorKind::user, handle == nullptr
                                   ? fmt::format("the {} is NULL", name)
                                   : fmt::format("the {} {} {}", name, fmt::ptr(handle), why));
}

/// The last use of a slot whose handle was released.
void recycle(std::uint32_t index, Slot& slot) noexcept {
  const std::unique_ptr<Object> object = std::move(slot.object);
  const std::uint32_t generation = generation_of(slot.word.load(std::memory_order_relaxed));
  slot.word.store(std::uint64_t{generation + 1} << generation_shift, std::memory_order_release);
  slots().give_back(index);
}

/// The slot of a live handle of this kind, and its word; nullptr for any other.
Slot* find_live(Kind kind, const Name& name, std::uint64_t& word) noexcept {
  Slot* const slot = name.is_handle ? slots().find(name.index) : nullptr;
  if (slot == nullptr) return nullptr;
  word = slot->word.load(std::memory_order_acquire);
  const bool is_it = generation_of(word) == name.generation && (word & kind_mask) == bits_of(kind);
  return is_it ? slot : nullptr;
}

}  // namespace

std::string_view name_of(Kind kind) noexcept {
  constexpr std::array<std::string_view, 21> names{
      "status",  "options",      "tensor", "graph", "port",    "shapes",  "call",
      "session", "device",       "stream", "coder", "texts",   "dims",    "metadata",
      "kernels", "cancellation", "run",    "task",  "profile", "builder", "value"};
  return names[static_cast<std::size_t>(kind)];
}

Use::Use(Kind kind, const void* handle) : index_(0), object_(nullptr) {
  const Name name = name_in(handle);
  while (true) {
    std::uint64_t word = 0;
    Slot* const slot = find_live(kind, name, word);
    if (slot == nullptr)
      refuse(kind, handle, "was released already, or is none that dyn gave out as such");
    if ((word & one_user_bit) != 0 && (word & users_mask) != 0)
      refuse(kind, handle, "is in use by another function; it has one user at a time");
    if (slot->word.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel)) {
      index_ = name.index;
      object_ = slot->object.get();
      return;
    }
  }
}

Use::~Use() {
  Slot& slot = *slots().find(index_);
  const std::uint64_t before = slot.word.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & live_bit) == 0 && (before & users_mask) == 1) recycle(index_, slot);
}

void* add_handle(Kind kind, std::unique_ptr<Object> object, Users users) {
  const std::uint32_t index = slots().take();
  Slot& slot = *slots().find(index);
  slot.object = std::move(object);
  const std::uint64_t word = slot.word.load(std::memory_order_relaxed);
  slot.word.store(word | bits_of(kind) | (users == Users::one ? one_user_bit : 0),
                  std::memory_order_release);
  return handle_of(index, generation_of(word));
}

void release_handle(Kind kind, const void* handle) noexcept {
  const Name name = name_in(handle);
  while (true) {
    std::uint64_t word = 0;
    Slot* const slot = find_live(kind, name, word);
    if (slot == nullptr) return;
    if (!slot->word.compare_exchange_weak(word, word & ~live_bit, std::memory_order_acq_rel))
      continue;
    if ((word & users_mask) == 0) recycle(name.index, *slot);
    return;
  }
}

std::size_t live_handles() {
  Slots& all = slots();
  const std::lock_guard lock(all.mutex);
  return all.count - all.free.size();
}

}  // namespace dyn::c
