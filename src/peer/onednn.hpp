#pragma once
// Problems as oneDNN's primitives.

#include <functional>
#include <memory>
#include <vector>

#include "src/peer/backend.hpp"
#include "src/peer/onednn_api.hpp"

namespace dyn::peer {

/// Constant weights in the layout that the primitive chooses, reordered once.
std::unique_ptr<Runner> prepare_matmul(const Dnnl& dnnl, const Problem& problem);

/// softmax, layer_norm, reduce_*, element-wise functions of one operand, and transpose as a reorder. Throws Unsupported for others.
std::unique_ptr<Runner> prepare_other(const Dnnl& dnnl, const Problem& problem);

/// The descriptor of a primitive. Version 2 makes it from a descriptor of the operation, which `describe` writes to memory that is large
/// enough for any; version 3 at once, by `create`.
Handle make_desc(const Dnnl& dnnl, const std::function<int(void*)>& describe, const std::function<int(void**)>& create);

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

  explicit PrimitiveRunner(const Dnnl& dnnl) : dnnl_(dnnl) {}

  const Dnnl& dnnl_;
  Handle primitive_;
  std::vector<Copy> copies_;
};

}  // namespace dyn::peer
