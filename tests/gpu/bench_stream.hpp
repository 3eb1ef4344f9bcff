#pragma once
// A stream of one's own in a GPU's context, and the time between two of its events.

#include <algorithm>
#include <limits>

#include "targets/ptx/cuda/context.hpp"

namespace dyn::gpu_check {

/// To be used with the context current.
class BenchStream {
 public:
  explicit BenchStream(const ptx::cuda::Context& context) : context_(context) {
    const ptx::cuda::Driver& driver = context.driver();
    context.check(driver.cuStreamCreate(&stream_, ptx::cuda::stream_non_blocking),
                  "making a stream");
    context.check(driver.cuEventCreate(&start_, 0), "making an event");
    context.check(driver.cuEventCreate(&end_, 0), "making an event");
  }
  BenchStream(const BenchStream&) = delete;
  BenchStream& operator=(const BenchStream&) = delete;
  ~BenchStream() {
    const ptx::cuda::Driver& driver = context_.driver();
    driver.cuEventDestroy(end_);
    driver.cuEventDestroy(start_);
    driver.cuStreamDestroy(stream_);
  }
  ptx::cuda::StreamHandle handle() const { return stream_; }

  /// Seconds on the device for one call of work(i), the mean over `calls`.
  template <class Work>
  double seconds(int calls, const Work& work) const {
    const ptx::cuda::Driver& driver = context_.driver();
    context_.check(driver.cuEventRecord(start_, stream_), "recording an event");
    for (int i = 0; i < calls; ++i) work(i);
    context_.check(driver.cuEventRecord(end_, stream_), "recording an event");
    context_.check(driver.cuEventSynchronize(end_), "waiting for an event");
    float milliseconds = 0;
    context_.check(driver.cuEventElapsedTime(&milliseconds, start_, end_), "reading the time");
    return milliseconds * 1e-3 / calls;
  }

 private:
  const ptx::cuda::Context& context_;
  ptx::cuda::StreamHandle stream_ = nullptr;
  ptx::cuda::EventHandle start_ = nullptr, end_ = nullptr;
};

}  // namespace dyn::gpu_check
