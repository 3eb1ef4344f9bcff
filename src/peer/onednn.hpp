#pragma once
// Problems as oneDNN's primitives.

#include <functional>
#include <memory>
#include <vector>

#include "src/peer/backend.hpp"
#include "src/peer/buffer.hpp"
#include "targets/vendor/onednn_api.hpp"

namespace dyn::peer {

using namespace vendor;

/// Constant weights in the layout that the primitive chooses, reordered once.
std::unique_ptr<Runner> prepare_matmul(const Dnnl& dnnl, const Problem& problem);

/// softmax, layer_norm, reduce_*, element-wise functions of one operand, and transpose as a
/// reorder. Throws Unsupported for others.
std::unique_ptr<Runner> prepare_other(const Dnnl& dnnl, const Problem& problem);

struct Memory {
  Buffer buffer;
  Handle handle;
};
Memory make_memory(const Dnnl& dnnl, const MemoryDesc& desc, Buffer buffer);
Memory make_memory(const Dnnl& dnnl, const MemoryDesc& desc);

/// A primitive, and for each copy of the problem its memory.
class PrimitiveRunner : public Runner {
 public:
  void run() override;

 protected:
  struct Copy {
    std::vector<Memory> memories;
    std::vector<DnnlArgument> arguments;  ///< parallel to memories
    void add(int argument, Memory memory);
  };

  explicit PrimitiveRunner(const Dnnl& dnnl) : dnnl_(dnnl), stream_(dnnl.stream()) {}

  const Dnnl& dnnl_;
  Handle stream_, primitive_;
  std::vector<Copy> copies_;
};

}  // namespace dyn::peer
