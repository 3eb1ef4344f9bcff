// The functions that use a GPU's approximations stay within their bounds, whatever these give
// within theirs.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/jit.hpp"
#include "targets/ptx/emulator/multiprocessor/lanes.hpp"
#include "targets/ptx/ir/device_math.hpp"
#include "tests/support/held_code.hpp"
#include "tests/support/math/float_map.hpp"

using namespace dyn;

namespace {

using codegen::Builder;
using UnaryFunction = float (*)(float);

float without_subnormal(double value) {
  const auto rounded = static_cast<float>(value);
  return std::fabs(rounded) < std::numeric_limits<float>::min() ? std::copysign(0.0f, rounded)
                                                                : rounded;
}

/// So many ulp above or below, where the value is not exact.
template <int ulps>
float moved(float value) {
  const bool exact = !std::isfinite(value) || value == 0;
  return exact ? value : ptx::emulation::moved_by_ulps(value, ulps);
}

template <int ulps>
float moved_exp2(float x) {
  x = without_subnormal(x);
  return x == 0 ? 1.0f : moved<ulps>(without_subnormal(std::exp2(static_cast<double>(x))));
}

template <int ulps>
float moved_reciprocal(float x) {
  return moved<ulps>(without_subnormal(1 / static_cast<double>(without_subnormal(x))));
}

/// A call of a function of this process.
template <UnaryFunction function>
llvm::Value* call_of(Builder& builder, llvm::Value* x) {
  llvm::Type* f32 = builder.getFloatTy();
  llvm::Value* address = builder.CreateIntToPtr(
      builder.getInt64(reinterpret_cast<std::uint64_t>(function)), builder.getPtrTy());
  return builder.CreateCall(llvm::FunctionType::get(f32, {f32}, false), address, {x});
}

struct Model {
  const char* name;
  codegen::Approximations approximations;
};

constexpr std::array models = {
    Model{"the emulator's",
          {call_of<ptx::emulation::approximate_exp2>,
           call_of<ptx::emulation::approximate_reciprocal>}},
    Model{"rounded", {call_of<moved_exp2<0>>, call_of<moved_reciprocal<0>>}},
    Model{"both high", {call_of<moved_exp2<2>>, call_of<moved_reciprocal<1>>}},
    Model{"both low", {call_of<moved_exp2<-2>>, call_of<moved_reciprocal<-1>>}},
    Model{"powers high, reciprocals low", {call_of<moved_exp2<2>>, call_of<moved_reciprocal<-1>>}},
    Model{"powers low, reciprocals high", {call_of<moved_exp2<-2>>, call_of<moved_reciprocal<1>>}}};

double exact(graph::ScalarOp op, double x) {
  switch (op) {
    case graph::ScalarOp::Exp: return std::exp(x);
    case graph::ScalarOp::Erf: return std::erf(x);
    case graph::ScalarOp::Tanh: return std::tanh(x);
    case graph::ScalarOp::Sigmoid:
      return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
    default: FAIL("no approximation is known of it"); return 0;
  }
}

const codegen::Isa& host_with_fma() {
  for (const codegen::Isa& isa : codegen::all_isas())
    if (isa.fma && codegen::cpu_has(isa)) return isa;
  FAIL("this machine has no fused multiply-add");
  return codegen::all_isas().front();
}

rkernel::KernelFunction compiled(graph::ScalarOp op, const Model& model) {
  static const auto store = codegen::CodeStore::open(host_with_fma(), {});
  codegen::MathOptions options = ptx::device_math;
  options.approximations = &model.approximations;
  const codegen::KernelSource source{
      fmt::format("approximate {} {}", graph::info_of(op).text, model.name),
      [=](llvm::Module& module, const std::string& symbol) {
        testing::emit_map(module, symbol, rkernel::expr_op(op), DType::f32, DType::f32, 4, options);
      }};
  rkernel::CompileReport report;
  return reinterpret_cast<rkernel::KernelFunction>(
      testing::hold(store->resolve({&source, 1}, 1, report)).front());
}

}  // namespace

TEST_CASE("functions by a GPU's approximations are within their bounds over all floats") {
  std::vector<float> x = testing::float_sample(), y(x.size());
  for (const codegen::ApproximateFunction& function : ptx::approximate_functions) {
    double worst = 0;
    for (const Model& model : models) {
      void* pointers[] = {x.data(), x.data(), y.data()};
      std::atomic<std::int32_t> status{0};
      const rkernel::KernelArgs args{pointers, nullptr, &status};
      compiled(function.op, model)(&args, 0, static_cast<std::int64_t>(x.size()), nullptr);
      double largest = 0;
      float at = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double error = testing::rounded_ulps(exact(function.op, x[i]), y[i]);
        if (error > largest) largest = error, at = x[i];
      }
      CAPTURE(graph::info_of(function.op).text);
      CAPTURE(model.name);
      CAPTURE(at);
      CHECK(largest <= function.ulps);
      worst = std::max(worst, largest);
    }
    std::printf("note: %s by approximations: at most %.3f ulp, bound %.1f\n",
                std::string(graph::info_of(function.op).text).c_str(), worst, function.ulps);
  }
}
