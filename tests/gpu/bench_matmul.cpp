#include "tests/gpu/bench_matmul.hpp"

#include <bit>
#include <random>
#include <utility>

#include "dyn/error.hpp"

namespace dyn::gpu_check {
namespace {

using rkernel::DeviceBlock;

std::uint16_t bf16_of(float value) {
  return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) + 0x8000u) >> 16);
}
float of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

/// Uniform in [-1, 1), as bytes of f32 or bf16.
std::vector<std::byte> random_matrix(DType dtype, std::int64_t elements, std::mt19937_64& random) {
  const std::size_t size = dtype == DType::bf16 ? 2 : 4;
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * size);
  for (std::size_t i = 0; i < bytes.size(); i += size) {
    const float value = static_cast<float>(random() >> 40) * 0x1p-23f - 1;
    if (size == 4) {
      *reinterpret_cast<float*>(&bytes[i]) = value;
    } else {
      *reinterpret_cast<std::uint16_t*>(&bytes[i]) = bf16_of(value);
    }
  }
  return bytes;
}

}  // namespace

BenchMatmul::BenchMatmul(ptx::PtxDevice& device, DType dtype, const MatmulShape& shape,
                         const std::vector<choice::GpuTile>& tiles, int copies, std::uint64_t seed)
    : device_(device),
      dtype_(dtype),
      shape_(shape),
      problem_(matmul_problem(dtype, shape.n, shape.k)),
      copies_stream_(device.make_stream()) {
  auto draft =
      ptx::ContractionKernel::draft(problem_.problem, device.machine(), dtype, tiles, "cuda");
  if (!draft) throw Error(ErrorKind::internal, "no GPU kernel for a plain matrix product");
  rkernel::CompileReport report;
  auto functions = device.load(draft->sources(), 4, report);
  kernel_ = (*std::move(draft)).with_code(std::move(functions));
  const std::int64_t symbols[] = {shape.m};
  launch_ = kernel_->plan({symbols, 1});
  upload(seed, copies);
}

void BenchMatmul::upload(std::uint64_t seed, int copies) {
  std::mt19937_64 random(seed);
  const auto a = random_matrix(dtype_, shape_.m * shape_.k, random),
             b = random_matrix(dtype_, shape_.k * shape_.n, random);
  const std::size_t c_bytes =
      static_cast<std::size_t>(shape_.m * shape_.n) * (dtype_ == DType::bf16 ? 2 : 4);
  const auto copy = [&](const void* from, std::size_t bytes, const char* what) {
    DeviceBlock block(device_, bytes, what);
    copies_stream_->upload(block.address(), from, bytes);
    return block;
  };
  for (int i = 0; i < copies; ++i) {
    MatmulOperands set;
    set.a = copy(a.data(), a.size(), "a");
    set.b = copy(b.data(), b.size(), "b");
    set.c = DeviceBlock(device_, c_bytes, "c");
    const rkernel::DeviceAddress pointers[] = {set.a.address(), set.b.address(), set.c.address()};
    set.pointers = copy(pointers, sizeof pointers, "pointers");
    operands_.push_back(std::move(set));
  }
  ints_ = copy(launch_.ints.data(), launch_.ints.size() * sizeof(std::int64_t), "ints");
  const std::int32_t ok = 0;
  status_ = copy(&ok, sizeof ok, "status");
  copies_stream_->synchronise();
}

void BenchMatmul::launch(const ptx::cuda::Context& context, ptx::cuda::StreamHandle stream,
                         int index) const {
  const rkernel::Grid& grid = launch_.grid;
  ptx::cuda::DevicePointer pointers = operands(index).pointers.address(), ints = ints_.address(),
                           status = status_.address();
  void* parameters[] = {&pointers, &ints, &status};
  const auto* kernel = static_cast<const ptx::cuda::LoadedKernel*>(grid.function);
  context.check(context.driver().cuLaunchKernel(
                    kernel->function, static_cast<unsigned>(grid.blocks), 1, 1,
                    static_cast<unsigned>(grid.threads), 1, 1,
                    static_cast<unsigned>(grid.shared_bytes), stream, parameters, nullptr),
                "launching a matrix product");
}

std::vector<float> BenchMatmul::result() const {
  std::vector<float> values(static_cast<std::size_t>(shape_.m * shape_.n));
  const DeviceBlock& c = operands_.front().c;
  if (dtype_ != DType::bf16) {
    copies_stream_->download(values.data(), c.address(), c.bytes());
    copies_stream_->synchronise();
    return values;
  }
  std::vector<std::uint16_t> bits(values.size());
  copies_stream_->download(bits.data(), c.address(), c.bytes());
  copies_stream_->synchronise();
  for (std::size_t i = 0; i < bits.size(); ++i) values[i] = of_bf16(bits[i]);
  return values;
}

}  // namespace dyn::gpu_check
