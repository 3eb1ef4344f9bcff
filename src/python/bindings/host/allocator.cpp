#include "src/python/bindings/host/allocator.hpp"

#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/python/bindings/arrays/given.hpp"
#include "src/python/bindings/host/shared_object.hpp"

namespace dyn::python {
namespace {

/// Memory that Python gave. Made and destroyed by whoever holds the GIL.
struct LentMemory {
  nb::object object;
  Given given;
  std::uintptr_t end;
};

/// What an allocator has given. Giving back waits for nobody: dyn's own locks may be held then, for
/// which another thread may wait that has the GIL.
class LentMemories {
 public:
  explicit LentMemories(nb::handle allocator) : allocator_(nb::borrow(allocator)) {}
  ~LentMemories() {
    if (Py_IsInitialized() == 0) {
      for (auto& each : used_) static_cast<void>(each.second.release());
      for (auto& each : unused_) static_cast<void>(each.release());
      return;
    }
    const WithGil gil;
    let_go();
  }
  LentMemories(const LentMemories&) = delete;
  LentMemories& operator=(const LentMemories&) = delete;

  /// By whoever holds the GIL.
  void* ask(std::size_t bytes, std::size_t alignment) {
    let_go();
    auto lent = std::make_unique<LentMemory>();
    lent->object = call_python(allocator_.get().attr("allocate"), bytes, alignment);
    lent->given = given(lent->object, {"the memory of allocate()", {}}, Layout::refuse, DType::u8);
    Tensor& tensor = lent->given.tensor;
    if (!tensor.writable()) user_error("the memory of allocate() is read-only");
    if (tensor.bytes() < bytes)
      user_error("allocate() gave " + std::to_string(tensor.bytes()) + " bytes of " +
                 std::to_string(bytes));
    void* const memory = tensor.raw();
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    lent->end = begin + bytes;
    const std::lock_guard lock(mutex_);
    const auto next = used_.lower_bound(begin);
    const bool meets_next = next != used_.end() && next->first < lent->end;
    const bool meets_last = next != used_.begin() && std::prev(next)->second->end > begin;
    if (meets_next || meets_last) user_error("allocate() gave memory that is in use");
    used_.emplace(begin, std::move(lent));
    return memory;
  }

  /// By any thread.
  void give_back(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = used_.find(reinterpret_cast<std::uintptr_t>(memory));
    unused_.push_back(std::move(found->second));
    used_.erase(found);
  }
  /// True once until let_go(): the caller sees to it.
  bool is_to_let_go() { return !is_seen_to_.exchange(true); }
  void forget_to_let_go() { is_seen_to_ = false; }

  /// By whoever holds the GIL. An exception of deallocate() is Python's `unraisable`.
  void let_go() {
    is_seen_to_ = false;
    std::vector<std::unique_ptr<LentMemory>> unused;
    {
      const std::lock_guard lock(mutex_);
      unused.swap(unused_);
    }
    const nb::error_scope own_error;
    for (auto& lent : unused) {
      const nb::object object = lent->object;
      lent.reset();
      try {
        if (nb::hasattr(allocator_.get(), "deallocate"))
          call_python(allocator_.get().attr("deallocate"), object);
      } catch (nb::python_error& error) { error.discard_as_unraisable(allocator_.get()); }
    }
  }

 private:
  const SharedObject allocator_;
  std::mutex mutex_;  ///< whoever has it calls no Python, and does not wait for the GIL
  std::map<std::uintptr_t, std::unique_ptr<LentMemory>> used_;  ///< by address
  std::vector<std::unique_ptr<LentMemory>> unused_;
  std::atomic<bool> is_seen_to_{false};
};

class PythonAllocator final : public Allocator {
 public:
  PythonAllocator(nb::handle allocator, std::shared_ptr<PythonFailure> failure)
      : memories_(std::make_shared<LentMemories>(allocator)), failure_(std::move(failure)) {}

  void* allocate(std::size_t bytes, std::size_t alignment) override {
    return with_gil(*failure_, ErrorKind::device, [&] { return memories_->ask(bytes, alignment); });
  }

  /// Python lets go in its main thread soon, or when the next memory is asked for.
  void deallocate(void* memory, std::size_t /*bytes*/,
                  std::size_t /*alignment*/) noexcept override {
    memories_->give_back(memory);
    if (Py_IsInitialized() == 0 || !memories_->is_to_let_go()) return;
    auto soon = std::make_unique<std::shared_ptr<LentMemories>>(memories_);
    if (Py_AddPendingCall(let_go, soon.get()) == 0)
      static_cast<void>(soon.release());
    else
      memories_->forget_to_let_go();
  }

 private:
  static int let_go(void* soon) {
    const std::unique_ptr<std::shared_ptr<LentMemories>> own(
        static_cast<std::shared_ptr<LentMemories>*>(soon));
    (*own)->let_go();
    return 0;
  }

  const std::shared_ptr<LentMemories> memories_;
  const std::shared_ptr<PythonFailure> failure_;
};

}  // namespace

std::shared_ptr<Allocator> make_allocator(nb::handle allocator,
                                          std::shared_ptr<PythonFailure> failure) {
  const nb::object allocate = nb::getattr(allocator, "allocate", nb::none());
  if (PyCallable_Check(allocate.ptr()) == 0)
    user_error("an allocator has allocate(bytes, alignment), but " + described(allocator) +
               " has none");
  return std::make_shared<PythonAllocator>(allocator, std::move(failure));
}

}  // namespace dyn::python
