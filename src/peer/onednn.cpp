// oneDNN as a backend: which primitive an operator is.

#include "src/peer/onednn.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace dyn::peer {
namespace {

constexpr std::size_t op_desc_bytes = 16384;  // more than any of version 2's descriptors of operations

class OneDnn : public Backend {
 public:
  OneDnn(Library library, int threads) : dnnl_(std::move(library), threads) {}

  std::string version() const override { return dnnl_.version(); }

  std::unique_ptr<Runner> prepare(const Problem& problem) override {
    return problem.op == "matmul" ? prepare_matmul(dnnl_, problem) : prepare_other(dnnl_, problem);
  }

 private:
  Dnnl dnnl_;
};

}  // namespace

Handle make_desc(const Dnnl& dnnl, const std::function<int(void*)>& describe, const std::function<int(void**)>& create) {
  if (dnnl.major() == 3) return dnnl.primitive_desc(create);
  std::vector<std::max_align_t> op(op_desc_bytes / sizeof(std::max_align_t));
  using Create = int(void**, const void*, const void*, void*, const void*);
  auto* create_from = dnnl.library().function<Create>("dnnl_primitive_desc_create");
  return dnnl.primitive_desc([&](void** made) {
    const int status = describe(op.data());
    return status != 0 ? status : create_from(made, op.data(), nullptr, dnnl.engine(), nullptr);
  });
}

void PrimitiveRunner::run() {
  for (const Copy& copy : copies_) dnnl_.execute(primitive_, copy.arguments);
}

void PrimitiveRunner::Copy::add(int argument, Memory memory) {
  arguments.push_back({argument, memory.handle.get()});
  memories.push_back(std::move(memory));
}

std::unique_ptr<Backend> open_onednn(Library library, int threads) { return std::make_unique<OneDnn>(std::move(library), threads); }

}  // namespace dyn::peer
