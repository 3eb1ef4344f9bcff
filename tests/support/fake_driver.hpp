#pragma once
// The fake driver (tests/support/fake_cuda) for one test case.

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>

#include "dyn/error.hpp"
#include "targets/ptx/cuda/device.hpp"
#include "tests/support/fake_cuda/fake_cuda.hpp"

namespace dyn::test {

/// Holds the library, reset to its defaults; at the end nothing may have been used against the
/// rules.
class FakeDriver {
 public:
  FakeDriver() : library_(dlopen(DYN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL)) {
    REQUIRE_MESSAGE(library_ != nullptr, dlerror());
    reinterpret_cast<void (*)()>(dlsym(library_, "dyn_fake_cuda_reset"))();
    control_ = reinterpret_cast<FakeCuda* (*)()>(dlsym(library_, "dyn_fake_cuda"))();
    current_ = reinterpret_cast<int (*)()>(dlsym(library_, "dyn_fake_cuda_current_device"));
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  ~FakeDriver() {
    CHECK_MESSAGE(control_->counts.misuses == 0, control_->counts.last_misuse);
    dlclose(library_);
  }

  FakeCuda* operator->() const { return control_; }
  int current_device() const { return current_(); }
  std::shared_ptr<const ptx::cuda::Driver> open() const {
    return ptx::cuda::open_driver(DYN_FAKE_CUDA);
  }
  std::shared_ptr<ptx::PtxDevice> device(const std::string& gpu = "",
                                         const std::string& cache_dir = "") const {
    return ptx::open_cuda_device(gpu, cache_dir, open());
  }
  /// From now on the call-th call of this function fails.
  void fail(const char* function, ptx::cuda::Result result, int call = 1) const {
    control_->failing_function = function;
    control_->failing_call = call;
    control_->failure = result;
  }

 private:
  void* library_;
  FakeCuda* control_ = nullptr;
  int (*current_)() = nullptr;
};

/// A context of device 1 that another library made current on this thread; it must still be current
/// at the end.
class ForeignContext {
 public:
  explicit ForeignContext(const FakeDriver& fake) : fake_(fake), driver_(fake.open()) {
    fake->devices = 2;
    REQUIRE(driver_->cuDevicePrimaryCtxRetain(&context_, 1) == ptx::cuda::Result::Success);
    REQUIRE(driver_->cuCtxPushCurrent(context_) == ptx::cuda::Result::Success);
  }
  ForeignContext(const ForeignContext&) = delete;
  ForeignContext& operator=(const ForeignContext&) = delete;
  ~ForeignContext() {
    CHECK(fake_.current_device() == 1);
    ptx::cuda::ContextHandle popped = nullptr;
    CHECK(driver_->cuCtxPopCurrent(&popped) == ptx::cuda::Result::Success);
    CHECK(popped == context_);
    CHECK(driver_->cuDevicePrimaryCtxRelease(1) == ptx::cuda::Result::Success);
  }
  const std::shared_ptr<const ptx::cuda::Driver>& driver() const { return driver_; }

 private:
  const FakeDriver& fake_;
  std::shared_ptr<const ptx::cuda::Driver> driver_;
  ptx::cuda::ContextHandle context_ = nullptr;
};

/// The message of the Error of this kind that the work must throw.
inline std::string message_of(ErrorKind kind, const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(name_of(error.kind()) == name_of(kind));
    return error.message();
  }
  FAIL("no error");
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Evaluates the text once: doctest would do so again, under its lock, for the message.
#define CHECK_CONTAINS(text, part)                                          \
  do {                                                                      \
    const std::string checked_text = (text);                                \
    CHECK_MESSAGE(::dyn::test::contains(checked_text, part), checked_text); \
  } while (false)

}  // namespace dyn::test
