// Matmul in oneDNN.

#include <utility>
#include <vector>

#include "src/peer/matmul_shape.hpp"
#include "src/peer/onednn.hpp"

namespace dyn::peer {
namespace {

constexpr std::size_t op_desc_bytes = 16384;  // more than version 2's descriptors of operations

/// The operand's dims as the product sees them: a transposed one is the same memory with other strides.
MemoryDesc operand_desc(const Dnnl& dnnl, const Operand& operand, std::size_t rank, bool transposed, bool any) {
  Shape shape = operand.shape, strides = dense_strides(operand.shape);
  shape.insert(shape.begin(), rank - shape.size(), 1);
  strides.insert(strides.begin(), rank - strides.size(), element_count(operand.shape));
  if (transposed) {
    std::swap(shape[rank - 2], shape[rank - 1]);
    std::swap(strides[rank - 2], strides[rank - 1]);
  }
  return any ? dnnl.any(shape) : dnnl.strided(shape, strides);
}

struct Descs {
  MemoryDesc a, b, c;
};

Handle matmul_desc(const Dnnl& dnnl, const Descs& descs) {
  if (dnnl.major() == 2) {
    std::vector<std::max_align_t> op(op_desc_bytes / sizeof(std::max_align_t));
    using Init = int(void*, const void*, const void*, const void*, const void*);
    auto* init = dnnl.library().function<Init>("dnnl_matmul_desc_init");
    using Create = int(void**, const void*, const void*, void*, const void*);
    auto* create = dnnl.library().function<Create>("dnnl_primitive_desc_create");
    return dnnl.primitive_desc([&](void** made) {
      const int status = init(op.data(), descs.a.pointer, descs.b.pointer, nullptr, descs.c.pointer);
      return status != 0 ? status : create(made, op.data(), nullptr, dnnl.engine(), nullptr);
    });
  }
  using Create = int(void**, void*, const void*, const void*, const void*, const void*, const void*);
  auto* create = dnnl.library().function<Create>("dnnl_matmul_primitive_desc_create");
  return dnnl.primitive_desc([&](void** made) {
    return create(made, dnnl.engine(), descs.a.pointer, descs.b.pointer, nullptr, descs.c.pointer, nullptr);
  });
}

class MatmulRunner : public Runner {
 public:
  MatmulRunner(const Dnnl& dnnl, const Problem& problem) : dnnl_(dnnl) {
    const MatmulShape shape = matmul_shape(problem);
    const std::size_t rank = problem.output.shape.size();
    const bool prepack = problem.operands[1].constant;
    const MemoryDesc plain_b = operand_desc(dnnl, problem.operands[1], rank, shape.transpose_b, false);
    Descs descs{operand_desc(dnnl, problem.operands[0], rank, shape.transpose_a, false),
                prepack ? operand_desc(dnnl, problem.operands[1], rank, shape.transpose_b, true) : plain_b, dnnl.dense(problem.output.shape)};
    const Handle desc = matmul_desc(dnnl, descs);
    descs.b = prepack ? dnnl.chosen(desc, dnnl_query_weights_md) : plain_b;
    primitive_ = dnnl.primitive(desc);
    const Handle reorder = prepack ? dnnl.reorder(plain_b, descs.b) : nullptr;
    for (int copy = 0; copy < problem.copies; ++copy) add_copy(problem, descs, plain_b, reorder, shape, static_cast<std::uint32_t>(2 * copy));
  }

  void run() override {
    for (const Copy& copy : copies_) run_copy(copy);
  }

 private:
  struct Copy {
    Memory a, b, c;
    std::vector<DnnlArgument> arguments;
  };

  void run_copy(const Copy& copy) { dnnl_.execute(primitive_, copy.arguments); }

  void add_copy(const Problem& problem, const Descs& descs, const MemoryDesc& plain_b, const Handle& reorder, const MatmulShape& shape,
                std::uint32_t seed) {
    Copy& copy = copies_.emplace_back();
    copy.a = dnnl_.memory(descs.a, random_floats(element_count(problem.operands[0].shape), seed + 1));
    Memory b = dnnl_.memory(plain_b, random_floats(element_count(problem.operands[1].shape), seed + 2)), spare;
    if (reorder != nullptr) {
      copy.b = dnnl_.memory(descs.b);
      dnnl_.execute(reorder, {{dnnl_arg_src, b.handle.get()}, {dnnl_arg_dst, copy.b.handle.get()}});
      spare = std::move(b);
    } else {
      copy.b = std::move(b);
    }
    copy.c = dnnl_.memory(descs.c, random_floats(element_count(problem.output.shape), 0));
    copy.arguments = {{dnnl_arg_src, copy.a.handle.get()}, {dnnl_arg_weights, copy.b.handle.get()}, {dnnl_arg_dst, copy.c.handle.get()}};
    if (copies_.size() > 1) return;
    run_copy(copy);
    const float* plain = reorder != nullptr ? spare.buffer.floats() : copy.b.buffer.floats();
    check_matmul(shape, copy.a.buffer.floats(), plain, copy.c.buffer.floats());
  }

  const Dnnl& dnnl_;
  Handle primitive_;
  std::vector<Copy> copies_;
};

}  // namespace

std::unique_ptr<Runner> prepare_matmul(const Dnnl& dnnl, const Problem& problem) { return std::make_unique<MatmulRunner>(dnnl, problem); }

}  // namespace dyn::peer
