#pragma once
// dyn::Device: tensors in the memory of a GPU, or of its emulator.

#include <cstdint>
#include <memory>
#include <string>

#include "dyn/dtype.hpp"
#include "dyn/export.hpp"
#include "dyn/tensor.hpp"

namespace dyn {

class Graph;

namespace rkernel {
class Stream;
}
namespace runtime {
class OpenDevice;
}

/// An in-order queue of work on a device. Copies are the same queue; one thread at a time may use
/// it, or run a Call on it.
class DYN_API Stream {
 public:
  /// Waits for everything that calls have queued there. Throws Error(device) where it failed.
  void wait() const;

 private:
  friend class Call;
  friend class Device;
  DYN_INTERNAL Stream(std::shared_ptr<rkernel::Device> device,
                      std::unique_ptr<rkernel::Stream> stream);
  std::shared_ptr<rkernel::Device> device_;  ///< outlives the stream
  std::shared_ptr<rkernel::Stream> stream_;
};

/// The device that a graph's kernels run on, with all parts and structures of the graph. Graphs on
/// one GPU have one; each graph on the emulator has its own. A tensor there is an input or an
/// output of a Call without a copy where only kernels of the device touch it. Thread-safe; copies
/// are the same device, and keep it open.
class DYN_API Device {
 public:
  /// Throws Error(user) where no kernel of the graph runs on a device that is there.
  explicit Device(const Graph& graph);

  /// "NVIDIA H200", "emulated a100".
  std::string name() const;

  /// New memory, aligned to 256 bytes, of unknown contents. Throws Error(user) for a bad shape,
  /// Error(device) for no memory.
  Tensor allocate(DType dtype, Shape shape) const;
  /// A view of memory that another library has allocated on this device: `address` is a
  /// CUdeviceptr, a multiple of 16. The memory must stay as long as the view is used. Throws
  /// Error(user) where the bytes do not lie in one allocation on this device.
  Tensor view(DType dtype, std::uint64_t address, Shape shape) const;

  Stream make_stream() const;
  /// A stream of another library: a CUstream (or cudaStream_t) of this GPU's primary context, which
  /// must stay until nothing uses the Stream. Throws Error(user) where it was destroyed, belongs to
  /// another context, or is being captured; so does a run on it. Error(unsupported) on the
  /// emulator.
  Stream stream(void* handle) const;

  /// Copies of tensors on the host and on this device, complete on return. Throw Error(user) where
  /// the tensor lies elsewhere, Error(device) for no memory, and where the device fails.
  Tensor upload(const Tensor& tensor) const;
  Tensor download(const Tensor& tensor) const;

 private:
  friend class Call;
  std::shared_ptr<runtime::OpenDevice> device_;
};

}  // namespace dyn
