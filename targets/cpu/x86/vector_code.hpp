#pragma once
// Rows of f32 in generated code: addresses, vectors, folds over a row of any length.

#include <functional>

#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// Shorthand of the emitters that write loops over rows of floats by hand. Memory is f32 without
/// alignment beyond 4 bytes.
class VectorCode {
 public:
  VectorCode(codegen::Builder& builder, const codegen::Isa& isa);

  llvm::ConstantInt* number(std::int64_t value) {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  }
  llvm::Value* minimum(llvm::Value* a, llvm::Value* b) {
    return builder_.CreateSelect(builder_.CreateICmpSLT(a, b), a, b);
  }
  llvm::Value* maximum(llvm::Value* a, llvm::Value* b) {
    return builder_.CreateSelect(builder_.CreateICmpSGT(a, b), a, b);
  }
  llvm::Value* round_up(llvm::Value* value, std::int64_t power_of_two);
  llvm::Value* round_down(llvm::Value* value, std::int64_t power_of_two);
  llvm::Value* ceil_div(llvm::Value* value, std::int64_t divisor);

  llvm::Value* element(llvm::Value* base, llvm::Value* index) {
    return builder_.CreateGEP(builder_.getFloatTy(), base, index);
  }
  llvm::Value* load(llvm::Value* address) {
    return builder_.CreateAlignedLoad(builder_.getFloatTy(), address, llvm::Align(4));
  }
  llvm::Value* load_vector(llvm::Value* address,
                           llvm::Value* mask = nullptr);  ///< 0 where the mask is false
  void store(llvm::Value* value, llvm::Value* address) {
    builder_.CreateAlignedStore(value, address, llvm::Align(4));
  }

  llvm::FixedVectorType* vector_type() const { return vector_; }
  llvm::Value* splat(llvm::Value* value) { return codegen::broadcast(builder_, value, lanes()); }
  llvm::Value* splat(double value) { return llvm::ConstantFP::get(vector_, value); }
  /// Lanes below `count`.
  llvm::Value* first_lanes(llvm::Value* count);
  int lanes() const { return isa_.f32_lanes; }
  const codegen::Isa& isa() const { return isa_; }
  codegen::Builder& builder() { return builder_; }

  llvm::Value* larger(llvm::Value* next, llvm::Value* so_far);  ///< so_far where next is NaN
  llvm::Value* fused(llvm::Value* a, llvm::Value* b,
                     llvm::Value* c);  ///< a * b + c, fused where the ISA can

  using Combine = std::function<llvm::Value*(llvm::Value*, llvm::Value*)>;
  /// One scalar from all lanes, in halves.
  llvm::Value* across(llvm::Value* vector, const Combine& combine);

  /// step(offset, mask, so_far) for each vector of [0, count), the mask nullptr for whole ones;
  /// four independent chains, combined at the end.
  using Step =
      std::function<llvm::Value*(llvm::Value* offset, llvm::Value* mask, llvm::Value* so_far)>;
  llvm::Value* fold(llvm::Value* count, llvm::Value* initial, const char* name, const Step& step,
                    const Combine& combine);

  /// body(offset, mask) for each vector of [0, count).
  void for_each_vector(llvm::Value* count, const char* name,
                       const std::function<void(llvm::Value* offset, llvm::Value* mask)>& body);

 private:
  codegen::Builder& builder_;
  const codegen::Isa& isa_;
  llvm::FixedVectorType* vector_;
};

}  // namespace dyn::cpu
