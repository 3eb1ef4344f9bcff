// Every f32 function against libm in double, over the whole range of floats; all widths and ISAs
// give the same bits.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "graph/ir/scalars.hpp"
#include "graph/ops/scalar_values.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/jit.hpp"
#include "targets/llvm/math/math.hpp"
#include "targets/llvm/problem/operands.hpp"
#include "tests/support/held_code.hpp"
#include "tests/support/math/float_map.hpp"
#include "tests/support/seed.hpp"

namespace {

using dyn::DType;
using dyn::codegen::Builder;
using dyn::rkernel::ExprOp;

/// One compiled variant for each width of each ISA that this CPU has.
struct Variant {
  const dyn::codegen::Isa* isa;
  int width;
  dyn::rkernel::KernelFunction function;
};

std::vector<Variant> compile(ExprOp op, DType from = DType::f32, DType to = DType::f32) {
  std::vector<Variant> variants;
  for (const auto& isa : dyn::codegen::all_isas()) {
    if (!dyn::codegen::cpu_has(isa)) continue;
    const auto store = dyn::codegen::CodeStore::open(isa, {});
    std::vector<dyn::codegen::KernelSource> sources;
    const int widths[] = {1, 4, 8, 16};
    for (const int width : widths)
      sources.push_back(
          {fmt::format("map {} {} {} {}", name_of(op), name_of(from), name_of(to), width),
           [=, options = dyn::codegen::MathOptions{.fma = isa.fma, .scalef = isa.name == "avx512"}](
               llvm::Module& module, const std::string& symbol) {
             dyn::testing::emit_map(module, symbol, op, from, to, width, options);
           }});
    dyn::rkernel::CompileReport report;
    const auto addresses = dyn::testing::hold(store->resolve(sources, 1, report));
    for (std::size_t i = 0; i < addresses.size(); ++i)
      variants.push_back(
          {&isa, widths[i], reinterpret_cast<dyn::rkernel::KernelFunction>(addresses[i])});
  }
  return variants;
}

template <class In, class Out>
void run(const Variant& variant, const std::vector<In>& a, const std::vector<In>& b,
         std::vector<Out>& out) {
  out.resize(a.size());
  void* pointers[] = {const_cast<In*>(a.data()), const_cast<In*>(b.data()), out.data()};
  std::atomic<std::int32_t> status{0};
  const dyn::rkernel::KernelArgs args{pointers, nullptr, &status};
  variant.function(&args, 0, static_cast<std::int64_t>(a.size()), nullptr);
}

struct Function {
  ExprOp op;
  double limit_ulps, limit_without_fma;
  std::function<double(double)> exact;
};

const std::vector<Function>& functions() {
  static const std::vector<Function> list = {
      {ExprOp::Exp, 1.0, 1.5, [](double x) { return std::exp(x); }},
      {ExprOp::Log, 1.0, 1.0, [](double x) { return std::log(x); }},
      {ExprOp::Tanh, 2.0, 2.0, [](double x) { return std::tanh(x); }},
      {ExprOp::Erf, 2.0, 2.0, [](double x) { return std::erf(x); }},
      {ExprOp::Sigmoid, 2.5, 2.5,
       [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }},
      {ExprOp::Sin, 0.52, 0.52, [](double x) { return std::sin(x); }},
      {ExprOp::Cos, 0.52, 0.52, [](double x) { return std::cos(x); }},
      {ExprOp::Tan, 0.52, 0.52, [](double x) { return std::tan(x); }},
      {ExprOp::Asin, 0.52, 0.52, [](double x) { return std::asin(x); }},
      {ExprOp::Acos, 0.52, 0.52, [](double x) { return std::acos(x); }},
      {ExprOp::Atan, 0.52, 0.52, [](double x) { return std::atan(x); }},
      {ExprOp::Sinh, 0.52, 0.52, [](double x) { return std::sinh(x); }},
      {ExprOp::Cosh, 0.52, 0.52, [](double x) { return std::cosh(x); }},
      {ExprOp::Asinh, 0.52, 0.52, [](double x) { return std::asinh(x); }},
      {ExprOp::Acosh, 0.52, 0.52, [](double x) { return std::acosh(x); }},
      {ExprOp::Atanh, 0.52, 0.52, [](double x) { return std::atanh(x); }},
      {ExprOp::Sqrt, 0.5, 0.5, [](double x) { return std::sqrt(x); }},
      {ExprOp::Rsqrt, 1.5, 1.5, [](double x) { return 1 / std::sqrt(x); }},
      {ExprOp::Reciprocal, 0.5, 0.5, [](double x) { return 1 / x; }},
      {ExprOp::Floor, 0, 0, [](double x) { return std::floor(x); }},
      {ExprOp::Ceil, 0, 0, [](double x) { return std::ceil(x); }},
      {ExprOp::Round, 0, 0, [](double x) { return std::nearbyint(x); }},
      {ExprOp::Relu, 0, 0, [](double x) { return std::isnan(x) ? x : std::max(x, 0.0); }},
      {ExprOp::Sign, 0, 0, [](double x) { return std::isnan(x) ? x : double((x > 0) - (x < 0)); }},
      {ExprOp::Abs, 0, 0, [](double x) { return std::fabs(x); }},
      {ExprOp::Neg, 0, 0, [](double x) { return -x; }},
  };
  return list;
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

}  // namespace

TEST_SUITE("full") {
  TEST_CASE("errors of the functions over fifty million floats of all exponents") {
    const std::uint64_t step =
        dyn::testing::full_sweeps() ? 83 : 997;  // primes: all patterns of low bits
    constexpr std::size_t batch = 1 << 16;
    for (const Function& function : functions()) {
      const Variant variant = compile(function.op)[3];
      double worst = 0;
      float worst_at = 0;
      std::vector<float> x(batch), y;
      for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32);) {
        for (float& value : x) {
          value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
          bits += step;
        }
        run(variant, x, x, y);
        for (std::size_t i = 0; i < batch; ++i) {
          const double error = dyn::testing::ulps(function.exact(x[i]), y[i]);
          if (error > worst) worst = error, worst_at = x[i];
        }
      }
      fmt::print("note: {} on {}: at most {:.3f} ulp, at {:a}\n", name_of(function.op),
                 variant.isa->name, worst, worst_at);
      CAPTURE(name_of(function.op));
      CAPTURE(worst_at);
      CHECK(worst <= (variant.isa->fma ? function.limit_ulps : function.limit_without_fma));
    }
  }
}

TEST_CASE("unary functions are accurate over all floats") {
  const std::vector<float> x = dyn::testing::float_sample();
  for (const Function& function : functions()) {
    std::vector<float> with_fma[2], y;
    for (const Variant& variant : compile(function.op)) {
      run(variant, x, x, y);
      double worst = 0;
      float worst_at = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double error = dyn::testing::ulps(function.exact(x[i]), y[i]);
        if (error > worst) worst = error, worst_at = x[i];
      }
      if (variant.width == 4)
        MESSAGE(name_of(function.op), " ", variant.isa->name, ": ", worst, " ulp at ", worst_at);
      CAPTURE(variant.isa->name);
      CAPTURE(variant.width);
      CAPTURE(name_of(function.op));
      CAPTURE(worst_at);
      CHECK(worst <= (variant.isa->fma ? function.limit_ulps : function.limit_without_fma));
      // The others must equal the first variant of each kind, with FMA and without.
      std::vector<float>& first = with_fma[variant.isa->fma];
      if (first.empty()) first = y;
      std::size_t different = 0;
      for (std::size_t i = 0; i < x.size(); ++i) different += !same_bits(first[i], y[i]);
      CHECK(different == 0);
    }
  }
}

TEST_CASE("binary functions are accurate, special values included") {
  std::vector<float> a, b;
  for (const float x : dyn::testing::special_floats())
    for (const float y : dyn::testing::special_floats()) a.push_back(x), b.push_back(y);
  std::mt19937 random(7);
  std::uniform_int_distribution<std::uint32_t> any;
  std::uniform_real_distribution<float> small(-12, 12), positive(0, 30);
  for (int i = 0; i < 100000; ++i) {
    a.push_back(std::bit_cast<float>(any(random))), b.push_back(std::bit_cast<float>(any(random)));
    a.push_back(positive(random)), b.push_back(small(random));
    a.push_back(small(random)), b.push_back(std::nearbyint(small(random)));
  }
  a.resize(a.size() / 16 * 16), b.resize(a.size());
  struct Binary {
    ExprOp op;
    double limit;
    std::function<double(double, double)> exact;
  };
  const std::vector<Binary> list = {
      {ExprOp::Pow, 0.52, [](double x, double y) { return std::pow(x, y); }},
      {ExprOp::Mod, 0.5, [](double x, double y) { return dyn::graph::scalar::mod(x, y); }},
      {ExprOp::Max, 0, [](double x, double y) { return dyn::graph::scalar::maximum(x, y); }},
      {ExprOp::Min, 0, [](double x, double y) { return dyn::graph::scalar::minimum(x, y); }},
      {ExprOp::Div, 0.5, [](double x, double y) { return x / y; }},
  };
  for (const Binary& function : list) {
    for (const Variant& variant : compile(function.op)) {
      std::vector<float> y;
      run(variant, a, b, y);
      double worst = 0;
      std::size_t worst_at = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double error = dyn::testing::ulps(function.exact(a[i], b[i]), y[i]);
        if (error > worst) worst = error, worst_at = i;
      }
      CAPTURE(variant.isa->name);
      CAPTURE(variant.width);
      CAPTURE(name_of(function.op));
      CAPTURE(a[worst_at]);
      CAPTURE(b[worst_at]);
      CAPTURE(y[worst_at]);
      CHECK(worst <= function.limit);
    }
  }
}

template <class T>
void check_integers(DType dtype, bool powers) {
  std::vector<T> a, b, y;
  const std::int64_t edges[] = {0,
                                1,
                                -1,
                                2,
                                -2,
                                3,
                                7,
                                -7,
                                63,
                                64,
                                65,
                                1000003,
                                std::numeric_limits<T>::min(),
                                std::numeric_limits<T>::min() + 1,
                                1LL << 40,
                                static_cast<std::int64_t>(std::numeric_limits<T>::max())};
  for (const std::int64_t x : edges)
    for (const std::int64_t z : edges)
      a.push_back(static_cast<T>(x)), b.push_back(static_cast<T>(z));
  namespace scalar = dyn::graph::scalar;
  using Exact = std::int64_t (*)(DType, std::int64_t, std::int64_t);
  const std::pair<ExprOp, Exact> list[] = {{ExprOp::Div, scalar::divide},
                                           {ExprOp::Mod, scalar::mod},
                                           {ExprOp::ShiftLeft, scalar::shift_left},
                                           {ExprOp::ShiftRight, scalar::shift_right},
                                           {ExprOp::Pow, scalar::power}};
  for (const auto& [op, exact] : list) {
    if (op == ExprOp::Pow && !powers) continue;
    for (const Variant& variant : compile(op, dtype, dtype)) {
      run(variant, a, b, y);
      for (std::size_t i = 0; i < a.size(); ++i) {
        CAPTURE(name_of(op));
        CAPTURE(name_of(dtype));
        CAPTURE(a[i]);
        CAPTURE(b[i]);
        REQUIRE(y[i] == static_cast<T>(exact(dtype, static_cast<std::int64_t>(a[i]),
                                             static_cast<std::int64_t>(b[i]))));
      }
    }
  }
}

TEST_CASE("integer operators wrap, truncate and never trap") {
  check_integers<std::int8_t>(DType::i8, true);
  check_integers<std::int16_t>(DType::i16, false);
  check_integers<std::int32_t>(DType::i32, false);
  check_integers<std::int64_t>(DType::i64, true);
  check_integers<std::uint8_t>(DType::u8, true);
  check_integers<std::uint16_t>(DType::u16, false);
  check_integers<std::uint32_t>(DType::u32, false);
  check_integers<std::uint64_t>(DType::u64, true);
}

TEST_CASE("casts saturate") {
  std::vector<float> x = dyn::testing::special_floats();
  x.resize((x.size() + 15) / 16 * 16);
  std::vector<std::int64_t> y;
  std::vector<std::int32_t> z;
  for (const Variant& variant : compile(ExprOp::Cast, DType::f32, DType::i64)) {
    run(variant, x, x, y);
    for (std::size_t i = 0; i < x.size(); ++i)
      REQUIRE(y[i] == dyn::graph::saturated(DType::i64, x[i]));
  }
  for (const Variant& variant : compile(ExprOp::Cast, DType::f32, DType::i32)) {
    run(variant, x, x, z);
    for (std::size_t i = 0; i < x.size(); ++i)
      REQUIRE(z[i] == dyn::graph::saturated(DType::i32, x[i]));
  }
}
