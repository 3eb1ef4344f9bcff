#include "targets/cpu/x86/vector_code.hpp"

#include <llvm/IR/Intrinsics.h>

#include <numeric>
#include <vector>

#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {

using codegen::Conditional;
using codegen::CountedLoop;

namespace {

constexpr int chains = 4;

}  // namespace

VectorCode::VectorCode(codegen::Builder& builder, const codegen::Isa& isa)
    : builder_(builder),
      isa_(isa),
      vector_(
          llvm::FixedVectorType::get(builder.getFloatTy(), static_cast<unsigned>(isa.f32_lanes))) {}

llvm::Value* VectorCode::round_down(llvm::Value* value, std::int64_t power_of_two) {
  return builder_.CreateAnd(value, number(-power_of_two));
}

llvm::Value* VectorCode::round_up(llvm::Value* value, std::int64_t power_of_two) {
  return round_down(builder_.CreateAdd(value, number(power_of_two - 1)), power_of_two);
}

llvm::Value* VectorCode::ceil_div(llvm::Value* value, std::int64_t divisor) {
  return builder_.CreateUDiv(builder_.CreateAdd(value, number(divisor - 1)), number(divisor));
}

llvm::Value* VectorCode::load_vector(llvm::Value* address, llvm::Value* mask) {
  if (mask == nullptr) return builder_.CreateAlignedLoad(vector_, address, llvm::Align(4));
  return builder_.CreateMaskedLoad(vector_, address, llvm::Align(4), mask,
                                   llvm::Constant::getNullValue(vector_));
}

llvm::Value* VectorCode::first_lanes(llvm::Value* count) {
  llvm::Value* ramp = codegen::iota(builder_, builder_.getInt64Ty(), lanes());
  return builder_.CreateICmpSLT(ramp, codegen::broadcast(builder_, count, lanes()));
}

llvm::Value* VectorCode::larger(llvm::Value* next, llvm::Value* so_far) {
  return builder_.CreateSelect(builder_.CreateFCmpOGT(next, so_far), next, so_far);
}

llvm::Value* VectorCode::fused(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  return codegen::multiply_add(builder_, isa_.fma, a, b, c);
}

llvm::Value* VectorCode::across(llvm::Value* vector, const Combine& combine) {
  for (int width = lanes(); width > 1; width /= 2) {
    std::vector<int> low(static_cast<std::size_t>(width / 2)), high(low.size());
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), width / 2);
    vector = combine(builder_.CreateShuffleVector(vector, low),
                     builder_.CreateShuffleVector(vector, high));
  }
  return builder_.CreateExtractElement(vector, std::uint64_t{0});
}

llvm::Value* VectorCode::fold(llvm::Value* count, llvm::Value* initial, const char* name,
                              const Step& step, const Combine& combine) {
  llvm::Value* whole = round_down(count, lanes());
  llvm::Value* together = round_down(count, chains * lanes());
  const std::vector<llvm::Value*> start(chains, initial);
  CountedLoop several(builder_, number(0), together, number(chains * lanes()), name, start);
  std::vector<llvm::Value*> next;
  for (std::size_t i = 0; i < chains; ++i) {
    llvm::Value* offset =
        builder_.CreateAdd(several.index(), number(static_cast<std::int64_t>(i) * lanes()));
    next.push_back(step(offset, nullptr, several.carried(i)));
  }
  const std::vector<llvm::Value*> parts = several.close(next);
  llvm::Value* so_far = combine(combine(parts[0], parts[1]), combine(parts[2], parts[3]));
  CountedLoop single(builder_, together, whole, number(lanes()), name, std::span(&so_far, 1));
  llvm::Value* one_more = step(single.index(), nullptr, single.carried(0));
  so_far = single.close(std::span(&one_more, 1))[0];
  llvm::Value* rest = builder_.CreateSub(count, whole);
  Conditional tail(builder_, builder_.CreateICmpSGT(rest, number(0)), name);
  llvm::Value* last = step(whole, first_lanes(rest), so_far);
  return tail.close(std::span(&last, 1), std::span(&so_far, 1))[0];
}

void VectorCode::for_each_vector(llvm::Value* count, const char* name,
                                 const std::function<void(llvm::Value*, llvm::Value*)>& body) {
  llvm::Value* whole = round_down(count, lanes());
  CountedLoop vectors(builder_, number(0), whole, number(lanes()), name);
  body(vectors.index(), nullptr);
  vectors.close();
  llvm::Value* rest = builder_.CreateSub(count, whole);
  Conditional tail(builder_, builder_.CreateICmpSGT(rest, number(0)), name);
  body(whole, first_lanes(rest));
  tail.close();
}

}  // namespace dyn::cpu
