#include "targets/ptx/cuda/context.hpp"

#include <fmt/format.h>

#include <utility>

#include "dyn/error.hpp"
#include "targets/ptx/cuda/query.hpp"

namespace dyn::ptx::cuda {

Context::Context(std::shared_ptr<const Driver> driver, int index)
    : driver_(std::move(driver)), device_(device_at(*driver_, index)) {
  machine_ = query_machine(*driver_, device_);
  has_memory_pools_ = has_pools(*driver_, device_);
  label_ = fmt::format("{} (cuda {})", machine_.product, index);
  const int capability = machine_.compute_capability;
  if (capability < least_compute_capability) {
    throw Error(ErrorKind::unsupported,
                fmt::format("{} has compute capability {}.{}; dyn needs {}.{} or more (Ampere and "
                            "later): use another GPU, or --device cpu",
                            label_, capability / 10, capability % 10, least_compute_capability / 10,
                            least_compute_capability % 10));
  }
  check(driver_->cuDevicePrimaryCtxRetain(&handle_, device_), "making a context");
}

Context::~Context() { driver_->cuDevicePrimaryCtxRelease(device_); }

void Context::check_allocation(Result result, std::size_t bytes, std::string_view what) const {
  if (result != Result::OutOfMemory) {
    check(result, fmt::format("allocating {} bytes for {}", bytes, what));
    return;
  }
  std::size_t free_bytes = 0, total_bytes = 0;
  check(driver_->cuMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
  throw Error(ErrorKind::device,
              fmt::format("{}: out of device memory: {} bytes wanted for {}, {} of {} bytes "
                          "free; use smaller shapes, a narrower precision, or "
                          "--device cpu",
                          label_, bytes, what, free_bytes, total_bytes));
}

void Context::fail(Result result, const std::string& doing) const {
  if (is_fatal(result)) lost_ = true;
  std::string message = fmt::format("{}: {}: {}", label_, doing, driver_->text(result));
  if (lost_) {
    message +=
        "\n  the device is lost, and with it all that is in its memory: destroy every graph on it, "
        "and the tensors that came from them, and load the model again, or "
        "restart the process";
  }
  throw Error(ErrorKind::device, std::move(message));
}

Context::Scope::Scope(const Context& context) : context_(context), active_(true) {
  context.check(context.driver_->cuCtxPushCurrent(context.handle_), "making the context current");
}

Context::Scope::Scope(const Context& context, std::nothrow_t) noexcept
    : context_(context),
      active_(context.driver_->cuCtxPushCurrent(context.handle_) == Result::Success) {}

Context::Scope::~Scope() {
  ContextHandle popped = nullptr;
  if (active_) context_.driver_->cuCtxPopCurrent(&popped);
}

}  // namespace dyn::ptx::cuda
