#include "tests/support/device/recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "dyn/graph.hpp"
#include "graph/ops/scalar_values.hpp"
#include "tests/support/half.hpp"
#include "tests/support/math/float_map.hpp"

namespace dyn::test {
namespace {

using Random = std::mt19937_64;

constexpr int lanes = 32;

// Distributions of the standard library differ between its makers; the generator does not.
std::uint32_t word(Random& random) { return static_cast<std::uint32_t>(random() >> 32); }
/// Uniform in [-1, 1), of 24 bits.
float unit(Random& random) { return static_cast<float>(random() >> 40) * 0x1p-23f - 1; }
float integer(Random& random, int limit) {
  return static_cast<float>(static_cast<int>(random() % static_cast<unsigned>(2 * limit + 1)) -
                            limit);
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

/// Loads %in0, %in1, ... of the thread, each a word.
std::string loads(int words) {
  std::string body = "  %begin = mul i32 %b, 32\n  %index = add i32 %begin, %t\n";
  body += fmt::format("  %first = mul i32 %index, {}\n", words);
  for (int i = 0; i < words; ++i) {
    body += fmt::format(
        "  %at{0} = add i32 %first, {0}\n  %from{0} = getelementptr i32, ptr addrspace(1) %p0, i32 "
        "%at{0}\n  %in{0} = load i32, ptr addrspace(1) %from{0}, align 4\n",
        i);
  }
  return body;
}

/// Stores %out0, %out1, ... of the thread, each a word, and returns.
std::string stores(int words) {
  std::string body = fmt::format("  %last = mul i32 %index, {}\n", words);
  for (int i = 0; i < words; ++i) {
    body += fmt::format(
        "  %to{0} = add i32 %last, {0}\n  %place{0} = getelementptr i32, ptr addrspace(1) %p1, i32 "
        "%to{0}\n  store i32 %out{0}, ptr addrspace(1) %place{0}, align 4\n",
        i);
  }
  return body + "  ret void";
}

RecordedKernel kernel_of(const std::string& name, int in, int out, int blocks,
                         const std::string& body) {
  RecordedKernel kernel;
  kernel.name = name;
  kernel.text = {lanes, 0, 2, loads(in) + body + stores(out)};
  kernel.blocks = blocks;
  kernel.output_words = static_cast<std::size_t>(lanes * blocks * out);
  kernel.input.resize(static_cast<std::size_t>(lanes * blocks * in));
  return kernel;
}

// ---- Tensor cores.

struct Mma {
  const char* name;
  const char* op;
  DType operands;  ///< f32: tf32
};
constexpr Mma mmas[] = {{"f16", "dyn.dev.mma.m16n8k16.f16", DType::f16},
                        {"bf16", "dyn.dev.mma.m16n8k16.bf16", DType::bf16},
                        {"tf32", "dyn.dev.mma.m16n8k8.tf32", DType::f32}};

struct MmaValues {
  std::function<float(Random&)> a, b, c;
};

/// A word of operands: two of 16 bits, or one of tf32 with noise in the bits that do not count.
std::uint32_t operand(DType dtype, const std::function<float(Random&)>& draw, Random& random) {
  if (dtype == DType::f32) return (bits(draw(random)) & ~0x1fffu) | (word(random) & 0x1fffu);
  const std::uint32_t low = testing::half_bits(dtype, draw(random)),
                      high = testing::half_bits(dtype, draw(random));
  return low | high << 16;
}

RecordedKernel mma_kernel(const Mma& mma, const char* what, const MmaValues& values,
                          Random& random) {
  std::string body, arguments;
  for (int i = 0; i < 6; ++i) arguments += fmt::format("i32 %in{}, ", i);
  for (int i = 0; i < 4; ++i) {
    body += fmt::format("  %c{} = bitcast i32 %in{} to float\n", i, i + 6);
    arguments += fmt::format("{}float %c{}", i == 0 ? "" : ", ", i);
  }
  body += fmt::format("  %d = call {{ float, float, float, float }} @{}({})\n", mma.op, arguments);
  for (int i = 0; i < 4; ++i) {
    body += fmt::format(
        "  %d{0} = extractvalue {{ float, float, float, float }} %d, {0}\n  %out{0} = bitcast "
        "float %d{0} to i32\n",
        i);
  }
  RecordedKernel kernel = kernel_of(fmt::format("mma {}, {}", mma.name, what), 10, 4, 4, body);
  for (std::size_t i = 0; i < kernel.input.size(); ++i) {
    const std::size_t part = i % 10;
    kernel.input[i] = part >= 6 ? bits(values.c(random))
                                : operand(mma.operands, part < 4 ? values.a : values.b, random);
  }
  return kernel;
}

void add_mmas(std::vector<RecordedKernel>& kernels, Random& random) {
  const auto small = [](Random& r) { return integer(r, 8); };
  const auto large = [](Random& r) { return integer(r, 1000); };
  const auto zero = [](Random&) { return 0.0f; };
  for (const Mma& mma : mmas) {
    // All products and sums of the first two are exact, in whatever order they are added.
    kernels.push_back(mma_kernel(mma, "integers", {small, small, large}, random));
    const float least = mma.operands == DType::f16    ? 0x1p-24f
                        : mma.operands == DType::bf16 ? 0x1p-133f
                                                      : 0x1p-136f;
    const auto subnormal = [least](Random& r) { return least * integer(r, 127); };
    kernels.push_back(mma_kernel(mma, "subnormal numbers", {subnormal, small, zero}, random));
    kernels.push_back(mma_kernel(mma, "fractions", {unit, unit, unit}, random));
  }
}

// Either factor has bytes with sign or without.
RecordedKernel byte_mma_kernel(const std::string& kind, Random& random) {
  std::string body =
      fmt::format("  %d = call {{ i32, i32, i32, i32 }} @dyn.dev.mma.m16n8k32.{}(", kind);
  for (int i = 0; i < 10; ++i) body += fmt::format("{}i32 %in{}", i == 0 ? "" : ", ", i);
  body += ")\n";
  for (int i = 0; i < 4; ++i)
    body += fmt::format("  %out{0} = extractvalue {{ i32, i32, i32, i32 }} %d, {0}\n", i);
  RecordedKernel kernel = kernel_of("mma " + kind, 10, 4, 4, body);
  for (std::uint32_t& value : kernel.input) value = word(random);
  return kernel;
}

RecordedKernel permutation_kernel(Random& random) {
  RecordedKernel kernel = kernel_of(
      "prmt", 3, 1, 8, "  %out0 = call i32 @dyn.dev.prmt.b32(i32 %in0, i32 %in1, i32 %in2)\n");
  for (std::size_t i = 0; i < kernel.input.size(); ++i)
    kernel.input[i] = i % 3 == 2 ? word(random) & 0xffffu : word(random);
  return kernel;
}

// ---- Loads of matrices.

RecordedKernel matrix_load_kernel(const std::string& kind, Random& random) {
  const int matrices = kind[1] - '0';
  const std::string result = matrices == 1   ? "i32"
                             : matrices == 2 ? "{ i32, i32 }"
                                             : "{ i32, i32, i32, i32 }";
  std::string body;
  for (int i = 0; i < 4; ++i) {
    body += fmt::format(
        "  %s{0} = mul i32 %t, 4\n  %w{0} = add i32 %s{0}, {0}\n  %m{0} = getelementptr i32, ptr "
        "addrspace(3) %shared, i32 %w{0}\n  store i32 %in{0}, ptr addrspace(3) %m{0}, align 4\n",
        i);
  }
  // Rows lie in another order than that of lanes: row of lane l at 16 * (5 * l mod 32).
  body += fmt::format(
      "  call void @dyn.dev.barrier.sync()\n  %five = mul i32 %t, 5\n  %row = and i32 %five, 31\n  "
      "%offset = mul i32 %row, 16\n  %place = getelementptr i8, ptr addrspace(3) %shared, i32 "
      "%offset\n  %m = call {} @dyn.dev.ldmatrix.{}(ptr addrspace(3) %place)\n",
      result, kind);
  for (int i = 0; i < matrices; ++i) {
    body += matrices == 1 ? std::string("  %out0 = add i32 %m, 0\n")
                          : fmt::format("  %out{0} = extractvalue {1} %m, {0}\n", i, result);
  }
  RecordedKernel kernel = kernel_of("ldmatrix " + kind, 4, matrices, 2, body);
  kernel.text.shared_bytes = 512;
  for (std::uint32_t& value : kernel.input) value = word(random);
  return kernel;
}

// ---- Warps.

RecordedKernel warp_kernel(Random& random) {
  std::string body;
  int out = 0;
  for (const char* mode : {"bfly", "down", "idx"}) {
    for (const int segment : {32, 16, 8, 4}) {
      for (const int step : {1, 2, 5, 16, 31}) {
        body += fmt::format(
            "  %out{} = call i32 @dyn.dev.shfl.sync.{}.b32(i32 %in0, i32 {}, i32 {}, i32 -1)\n",
            out++, mode, step, (32 - segment) << 8 | 31);
      }
    }
  }
  body += fmt::format(
      "  %negative = icmp slt i32 %in0, 0\n  %out{} = call i32 @dyn.dev.vote.sync.ballot.b32(i1 "
      "%negative, i32 -1)\n",
      out++);
  RecordedKernel kernel = kernel_of("shuffles and votes", 1, out, 1, body);
  for (std::uint32_t& value : kernel.input) value = word(random);
  return kernel;
}

// ---- Numbers.

/// Any bits but those of a NaN: zeros, subnormal numbers and infinities come often.
std::uint32_t any_number(Random& random) {
  const std::uint32_t drawn = word(random);
  switch (random() % 8) {
    case 0: return drawn & 0x807fffffu;
    case 1: return (drawn & 0x80000000u) | (drawn & 1u ? 0x7f800000u : 0u);
    case 2: return (drawn & 0x807fffffu) | 0x4b000000u;  // from 2^23 on: no fraction
    case 3: return (drawn & 0x807fe000u) | 0x38800000u;  // where f16's subnormal numbers end
    default: return (drawn & 0x7f800000u) == 0x7f800000u ? drawn & 0xbfffffffu : drawn;
  }
}

RecordedKernel conversion_kernel(Random& random) {
  RecordedKernel kernel = kernel_of("conversions", 1, 5, 8, R"(
  %x = bitcast i32 %in0 to float
  %h = call i16 @dyn.dev.cvt.rn.f16.f32(float %x)
  %g = call i16 @dyn.dev.cvt.rn.bf16.f32(float %x)
  %y = call float @dyn.dev.cvt.f32.f16(i16 %h)
  %out0 = zext i16 %h to i32
  %out1 = zext i16 %g to i32
  %out2 = bitcast float %y to i32
  %out3 = call i32 @llvm.fptosi.sat.i32.f32(float %x)
  %s = sitofp i32 %in0 to float
  %out4 = bitcast float %s to i32
)");
  for (std::uint32_t& value : kernel.input) value = any_number(random);
  return kernel;
}

constexpr std::size_t function_count = 4096;

/// Operands of a function: small numbers and any bits by turns.
struct Arguments {
  std::vector<float> x, y;
};

Arguments function_arguments() {
  Random random(2);
  Arguments arguments{std::vector<float>(function_count), std::vector<float>(function_count)};
  for (std::size_t i = 0; i < function_count; ++i) {
    const bool any = i % 2 == 1;
    arguments.x[i] = any ? std::bit_cast<float>(any_number(random)) : 16 * unit(random);
    arguments.y[i] = any ? std::bit_cast<float>(any_number(random)) : 4 * unit(random);
  }
  return arguments;
}

double exact_value(graph::ScalarOp op, double x) {
  switch (op) {
    case graph::ScalarOp::Exp: return std::exp(x);
    case graph::ScalarOp::Erf: return std::erf(x);
    case graph::ScalarOp::Tanh: return std::tanh(x);
    default: return graph::scalar::sigmoid(x);
  }
}

/// Distance in ulp from what an approximating instruction should give, rounded.
double distance(double exact, std::uint32_t result) {
  const auto rounded = static_cast<float>(exact);
  const bool subnormal = std::fabs(rounded) < std::numeric_limits<float>::min();
  const auto value = std::bit_cast<float>(result);
  // The least normal number may stand for what rounds to it or lies just below.
  if (subnormal && value == 0) return 0;
  if (std::fabs(rounded) == std::numeric_limits<float>::min() && value == 0) return 0;
  return testing::ulps(static_cast<double>(rounded), value);
}

}  // namespace

RecordedKernel approximation_kernel() {
  RecordedKernel kernel = kernel_of("approximations", 1, 2, 64, R"(
  %x = bitcast i32 %in0 to float
  %e = call float @dyn.dev.ex2.approx.ftz.f32(float %x)
  %r = call float @dyn.dev.rcp.approx.ftz.f32(float %x)
  %out0 = bitcast float %e to i32
  %out1 = bitcast float %r to i32
)");
  Random random(3);
  for (std::size_t i = 0; i < kernel.input.size(); ++i)
    kernel.input[i] = i % 4 == 3 ? any_number(random) : bits((i % 4 == 0 ? 1 : 128) * unit(random));
  return kernel;
}

ApproximationErrors errors_of(const RecordedKernel& approximations, const Words& output) {
  ApproximationErrors errors{0, 0};
  for (std::size_t i = 0; i < approximations.input.size(); ++i) {
    auto x = static_cast<double>(std::bit_cast<float>(approximations.input[i]));
    if (std::fabs(x) < std::numeric_limits<float>::min()) x = std::copysign(0.0, x);
    errors.exp2 = std::max(errors.exp2, distance(std::exp2(x), output.at(2 * i)));
    errors.reciprocal = std::max(errors.reciprocal, distance(1 / x, output.at(2 * i + 1)));
  }
  return errors;
}

std::vector<RecordedKernel> recorded_kernels() {
  Random random(1);
  std::vector<RecordedKernel> kernels;
  add_mmas(kernels, random);
  for (const char* kind : {"x1", "x2", "x4", "x2.trans", "x4.trans"})
    kernels.push_back(matrix_load_kernel(kind, random));
  kernels.push_back(warp_kernel(random));
  kernels.push_back(conversion_kernel(random));
  for (const char* kind : {"u8.u8", "u8.s8", "s8.u8", "s8.s8"})
    kernels.push_back(byte_mma_kernel(kind, random));
  kernels.push_back(permutation_kernel(random));
  return kernels;
}

Words run(ptx::PtxDevice& device, const RecordedKernel& kernel) {
  const codegen::KernelSource source = kernel.text.source();
  rkernel::CompileReport report;
  const void* function = device.load({&source, 1}, 1, report).front();
  const auto stream = device.make_stream();
  Words output(kernel.output_words, 0xdeadbeef);
  const std::size_t in_bytes = kernel.input.size() * 4, out_bytes = output.size() * 4;
  const rkernel::DeviceBlock in(device, in_bytes, "the input"),
      out(device, out_bytes, "the output"), pointers(device, 16, "the pointers"),
      ints(device, 8, "the ints"), status(device, 4, "the status");
  const rkernel::DeviceAddress addresses[] = {in.address(), out.address()};
  stream->upload(in.address(), kernel.input.data(), in_bytes);
  stream->upload(out.address(), output.data(), out_bytes);
  stream->upload(pointers.address(), addresses, sizeof addresses);
  stream->clear(status.address(), 4);
  const rkernel::OperandRange ranges[] = {{in.address(), in_bytes, false},
                                          {out.address(), out_bytes, true}};
  stream->launch({function, kernel.name.c_str(), kernel.blocks, kernel.text.threads,
                  kernel.text.shared_bytes, pointers.address(), ints.address(), status.address(),
                  ranges});
  stream->download(output.data(), out.address(), out_bytes);
  stream->synchronise();
  return output;
}

std::vector<graph::ScalarOpInfo> recorded_functions() {
  std::vector<graph::ScalarOpInfo> functions;
  for (const graph::ScalarOpInfo& info : graph::scalar_ops()) {
    const bool floats =
        info.takes == graph::ScalarOperands::Floats || info.takes == graph::ScalarOperands::Numbers;
    const bool approximate =
        std::ranges::find(ptx::approximate_functions, info.op, &codegen::ApproximateFunction::op) !=
        std::end(ptx::approximate_functions);
    if (floats && !approximate && !info.has(graph::Tests)) functions.push_back(info);
  }
  return functions;
}

Words results_of(const graph::ScalarOpInfo& function, const std::string& device) {
  Options options;
  options.device = device;
  options.cache_dir = "none";
  const Arguments arguments = function_arguments();
  const bool two = function.operands == 2;
  const Graph graph = Graph::from_text(
      fmt::format(
          "dyn 1\ndim N in 1..65536\ngraph f(x: f32[N]{}) -> (z: f32[N]) {{\n  z = {}(x{})\n"
          "  return z\n}}\n",
          two ? ", y: f32[N]" : "", function.text, two ? ", y" : ""),
      options);
  const Shape shape{static_cast<std::int64_t>(function_count)};
  NamedTensors inputs = {{"x", Tensor::view(arguments.x, shape)}};
  if (two) inputs.emplace_back("y", Tensor::view(arguments.y, shape));
  const Outputs outputs = graph.run(inputs);
  Words words;
  for (const float value : outputs[std::size_t{0}].data<float>())
    words.push_back(std::isnan(value) ? 0x7fc00000u : bits(value));
  return words;
}

double largest_error(const codegen::ApproximateFunction& function, const std::string& device) {
  const Arguments arguments = function_arguments();
  const Words results = results_of(graph::info_of(function.op), device);
  double largest = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double exact = exact_value(function.op, static_cast<double>(arguments.x[i]));
    largest = std::max(largest, testing::rounded_ulps(exact, std::bit_cast<float>(results[i])));
  }
  return largest;
}

std::string hash_of(const Words& words) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint32_t value : words) {
    for (int shift = 0; shift < 32; shift += 8)
      hash = (hash ^ (value >> shift & 0xff)) * 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace dyn::test
