// Threads, memory, operators and an ear, which the host lends to loads and runs.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/c/lent.hpp"
#include "src/c/objects.hpp"

using dyn::c::guarded;
using dyn::c::OptionsHandle;
using dyn::c::required_text;
using dyn::c::TaskHandle;
using dyn::c::Used;

namespace dyn::c {
namespace {

class FunctionExecutor final : public Executor {
 public:
  explicit FunctionExecutor(const dyn_executor& functions) : lent(functions) {
    check_function(functions.concurrency, "executor->concurrency");
    check_function(functions.submit, "executor->submit");
  }

  int concurrency() const override { return lent->concurrency(lent->context); }

  void submit(std::function<void()> task) override {
    dyn_task* handle = nullptr;
    make_handle<TaskHandle>(handle, std::move(task));
    if (lent->submit(lent->context, handle)) return;
    release_handle(TaskHandle::kind, handle);
    throw Error(ErrorKind::device, "executor->submit of the host did not take a task");
  }

  Lent<dyn_executor> lent;
};

class FunctionAllocator final : public Allocator {
 public:
  explicit FunctionAllocator(const dyn_allocator& functions) : lent(functions) {
    check_function(functions.allocate, "allocator->allocate");
    check_function(functions.deallocate, "allocator->deallocate");
  }

  void* allocate(std::size_t bytes, std::size_t alignment) override {
    return lent->allocate(lent->context, bytes, alignment);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    lent->deallocate(lent->context, memory, bytes, alignment);
  }

  Lent<dyn_allocator> lent;
};

/// `member` of the options is what lends the functions, or nothing where there are none.
template <class Lender, class Base, class Functions>
dyn_status* set_lender(dyn_options* options, std::shared_ptr<Base> Options::* member,
                       const Functions* functions, const char* argument) noexcept {
  return guarded([&] {
    const Used<OptionsHandle> used(options);
    if (functions == nullptr) {
      (*used).*member = nullptr;
      return;
    }
    const auto lender = std::make_shared<Lender>(struct_of(functions, argument));
    (*used).*member = lender;
    lender->lent.take();
  });
}

/// A table of operators that the host lends.
struct LentTable {
  void (*release)(void*);
  void* context;
};

}  // namespace
}  // namespace dyn::c

extern "C" {

dyn_status* dyn_options_set_progress(dyn_options* options, dyn_progress_function progress,
                                     void* context) noexcept {
  return guarded([&] {
    const Used<OptionsHandle> used(options);
    used->progress = nullptr;
    if (progress == nullptr) return;
    used->progress = [progress, context](const dyn::LoadProgress& at) {
      return progress(context, std::string(at.stage).c_str(), at.done, at.total);
    };
  });
}

dyn_status* dyn_options_set_executor(dyn_options* options, const dyn_executor* executor) noexcept {
  return dyn::c::set_lender<dyn::c::FunctionExecutor>(options, &dyn::Options::executor, executor,
                                                      "executor");
}

dyn_status* dyn_options_set_allocator(dyn_options* options,
                                      const dyn_allocator* allocator) noexcept {
  return dyn::c::set_lender<dyn::c::FunctionAllocator>(options, &dyn::Options::allocator, allocator,
                                                       "allocator");
}

dyn_status* dyn_options_add_plugin(dyn_options* options, const char* path) noexcept {
  return guarded([&] {
    const Used<OptionsHandle> used(options);
    used->plugins.emplace_back(required_text(path, "path"));
  });
}

dyn_status* dyn_options_add_operators(dyn_options* options, const dyn_plugin* table,
                                      void (*release)(void* context), void* context) noexcept {
  return guarded([&] {
    using Table = dyn::c::Lent<dyn::c::LentTable>;
    const Used<OptionsHandle> used(options);
    dyn::c::check_pointer(table, alignof(void*), "table");
    const auto owner = std::make_shared<Table>(dyn::c::LentTable{release, context});
    used->operators = used->operators.joined(dyn::Operators::from_table(*table, owner));
    owner->take();
  });
}

dyn_status* dyn_task_run(dyn_task* task) noexcept {
  return guarded([&] {
    {
      const Used<TaskHandle> used(task);
      if (*used) std::exchange(*used, nullptr)();
    }
    dyn::c::release_handle(TaskHandle::kind, task);
  });
}

void dyn_task_release(dyn_task* task) noexcept { dyn::c::release_handle(TaskHandle::kind, task); }

}  // extern "C"
