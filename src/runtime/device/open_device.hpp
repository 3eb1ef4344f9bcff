#pragma once
// The inside of a dyn::Device.

#include <memory>
#include <mutex>

#include "dyn/tensor.hpp"
#include "src/rkernel/target/device.hpp"

namespace dyn::runtime {

/// Thread-safe.
class OpenDevice {
 public:
  explicit OpenDevice(std::shared_ptr<rkernel::Device> device) : device_(std::move(device)) {}

  const std::shared_ptr<rkernel::Device>& device() const noexcept { return device_; }
  /// As those of dyn::Device.
  Tensor upload(const Tensor& tensor);
  Tensor download(const Tensor& tensor);

 private:
  template <class Work>
  void with_stream(const Work& work);

  const std::shared_ptr<rkernel::Device> device_;
  std::mutex mutex_;
  std::unique_ptr<rkernel::Stream> stream_;  ///< made when it is first needed
};

}  // namespace dyn::runtime
