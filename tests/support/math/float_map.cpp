#include "tests/support/math/float_map.hpp"

#include <bit>
#include <cmath>
#include <random>

#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/operands.hpp"

namespace dyn::testing {

void emit_map(llvm::Module& module, const std::string& symbol, rkernel::ExprOp op, DType from,
              DType to, int width, codegen::MathOptions options) {
  llvm::LLVMContext& context = module.getContext();
  codegen::Builder builder(context);
  llvm::Type* pointer = builder.getPtrTy();
  llvm::Type* i64 = builder.getInt64Ty();
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), {pointer, i64, i64, pointer}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  const auto args = codegen::load_kernel_args(builder, function->getArg(0));
  llvm::Value* buffers[3];
  for (unsigned i = 0; i < 3; ++i)
    buffers[i] = builder.CreateLoad(pointer, builder.CreateConstGEP1_64(pointer, args.pointers, i));
  llvm::Type* in = codegen::memory_type(context, from);
  llvm::Type* out = codegen::memory_type(context, to);
  codegen::CountedLoop loop(builder, function->getArg(1), function->getArg(2),
                            builder.getInt64(static_cast<std::uint64_t>(width)), "map");
  const auto load = [&](int i) {
    return builder.CreateAlignedLoad(codegen::lanes_of(in, width),
                                     builder.CreateGEP(in, buffers[i], loop.index()),
                                     llvm::Align(size_of(from)));
  };
  codegen::Math math(builder, options);
  llvm::Value* b = rkernel::argument_count(op) == 2 ? load(1) : nullptr;
  llvm::Value* value = math.apply(op, from, to, load(0), b);
  if (to == DType::boolean) value = builder.CreateZExt(value, codegen::lanes_of(out, width));
  builder.CreateAlignedStore(value, builder.CreateGEP(out, buffers[2], loop.index()),
                             llvm::Align(size_of(to)));
  loop.close();
  builder.CreateRetVoid();
}

const std::vector<float>& special_floats() {
  static const std::vector<float> values = [] {
    std::vector<float> list = {0.0f,
                               1.0f,
                               0.5f,
                               2.0f,
                               3.0f,
                               1.5f,
                               2.5f,
                               1e-45f,
                               1.17549435e-38f,
                               1.1754942e-38f,
                               3.4028235e38f,
                               INFINITY,
                               NAN,
                               88.72283f,
                               88.7229f,
                               103.97f,
                               104.1f,
                               0.55f,
                               1e4f,
                               8388608.0f,
                               8388609.0f,
                               16777216.0f,
                               0.70710677f,
                               1.4142135f,
                               3.1415927f,
                               1.5707964f,
                               16367173.0f * 0x1p72f};
    const std::size_t count = list.size();
    for (std::size_t i = 0; i < count; ++i) list.push_back(-list[i]);
    return list;
  }();
  return values;
}

std::vector<float> float_sample() {
  std::vector<float> values = special_floats();
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 8191)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  std::mt19937 random(20240817);
  std::uniform_real_distribution<float> near(-20, 20);
  for (int i = 0; i < 200000; ++i) values.push_back(near(random));
  values.resize(values.size() / 16 * 16);
  return values;
}

double ulps(double exact, float value) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(value))
    return std::isnan(exact) == std::isnan(value) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(value)) return rounded == value ? 0 : 1e9;
  if (rounded == 0 && value == 0) return 0;
  const int exponent = std::max(std::ilogb(exact == 0 ? 1e-300 : exact), -126);
  return std::fabs(exact - value) / std::ldexp(1.0, exponent - 23);
}

double rounded_ulps(double exact, float value) {
  const bool rises = std::isnormal(static_cast<float>(exact)) &&
                     std::ilogb(static_cast<float>(exact)) > std::ilogb(exact);
  return ulps(exact, value) * (rises ? 0.5 : 1);
}

}  // namespace dyn::testing
