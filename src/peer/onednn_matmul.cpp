// Matmul in oneDNN.

#include <array>
#include <utility>
#include <vector>

#include "src/peer/elements.hpp"
#include "src/peer/matmul_shape.hpp"
#include "src/peer/onednn.hpp"

namespace dyn::peer {
namespace {

int dnnl_type(Element element) {
  switch (element) {
    case Element::F32: return dnnl_f32;
    case Element::F16: return dnnl_f16;
    case Element::Bf16: return dnnl_bf16;
    case Element::I32: return dnnl_s32;
    case Element::I8: return dnnl_s8;
    case Element::U8: return dnnl_u8;
  }
  return dnnl_f32;
}

Buffer random_of(const Operand& operand, std::uint32_t seed) {
  return random_elements(element_named(operand.dtype), element_count(operand.shape), seed);
}

/// The operand's dims as the product sees them: a transposed one is the same memory with other
/// strides.
MemoryDesc operand_desc(const Dnnl& dnnl, const Operand& operand, std::size_t rank, bool transposed,
                        bool any) {
  Shape shape = operand.shape, strides = dense_strides(operand.shape);
  shape.insert(shape.begin(), rank - shape.size(), 1);
  strides.insert(strides.begin(), rank - strides.size(), element_count(operand.shape));
  if (transposed) {
    std::swap(shape[rank - 2], shape[rank - 1]);
    std::swap(strides[rank - 2], strides[rank - 1]);
  }
  const int dtype = dnnl_type(element_named(operand.dtype));
  return any ? dnnl.any(shape, dtype) : dnnl.strided(shape, strides, dtype);
}

struct Descs {
  MemoryDesc a, b, c;
};

class MatmulRunner : public PrimitiveRunner {
 public:
  MatmulRunner(const Dnnl& dnnl, const Problem& problem) : PrimitiveRunner(dnnl) {
    const MatmulShape shape = matmul_shape(problem);
    const std::size_t rank = problem.output.shape.size();
    const bool prepack = problem.operands[1].constant;
    const MemoryDesc plain_b =
        operand_desc(dnnl, problem.operands[1], rank, shape.transpose_b, false);
    Descs descs{
        operand_desc(dnnl, problem.operands[0], rank, shape.transpose_a, false),
        prepack ? operand_desc(dnnl, problem.operands[1], rank, shape.transpose_b, true) : plain_b,
        dnnl.dense(problem.output.shape, dnnl_type(element_named(problem.output.dtype)))};
    const Handle desc = dnnl.matmul_desc(descs.a, descs.b, descs.c);
    descs.b = prepack ? dnnl.chosen(desc, dnnl_query_weights_md) : plain_b;
    primitive_ = dnnl.primitive(desc);
    const Handle reorder = prepack ? dnnl.reorder(plain_b, descs.b) : nullptr;
    for (int copy = 0; copy < problem.copies; ++copy)
      add_copy(problem, descs, plain_b, reorder, shape, static_cast<std::uint32_t>(2 * copy));
  }

 private:
  void add_copy(const Problem& problem, const Descs& descs, const MemoryDesc& plain_b,
                const Handle& reorder, const MatmulShape& shape, std::uint32_t seed) {
    const Operand &left = problem.operands[0], &right = problem.operands[1];
    Memory a = make_memory(dnnl_, descs.a, random_of(left, seed + 1));
    Memory b = make_memory(dnnl_, plain_b, random_of(right, seed + 2)), packed;
    Memory c = make_memory(dnnl_, descs.c, random_of(problem.output, 0));
    const Elements a_data{a.buffer.data(), element_named(left.dtype)},
        b_data{b.buffer.data(), element_named(right.dtype)},
        c_data{c.buffer.data(), element_named(problem.output.dtype)};
    if (reorder != nullptr) {
      packed = make_memory(dnnl_, descs.b);
      dnnl_.execute(reorder,
                    std::array{DnnlArgument{dnnl_arg_src, b.handle.get()},
                               DnnlArgument{dnnl_arg_dst, packed.handle.get()}},
                    stream_);
    }
    Copy& copy = copies_.emplace_back();
    copy.add(dnnl_arg_src, std::move(a));
    copy.add(dnnl_arg_weights, std::move(reorder != nullptr ? packed : b));
    copy.add(dnnl_arg_dst, std::move(c));
    if (copies_.size() > 1) return;
    run();
    check_matmul(shape, a_data, b_data, c_data);
  }
};

}  // namespace

std::unique_ptr<Runner> prepare_matmul(const Dnnl& dnnl, const Problem& problem) {
  return std::make_unique<MatmulRunner>(dnnl, problem);
}

}  // namespace dyn::peer
