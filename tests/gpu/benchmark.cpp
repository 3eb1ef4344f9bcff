// Matrix products beside cuBLAS: interleaved, the best of many, warm and with operands that rotate
// through more than twice the L2 cache.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "targets/ptx/cuda/device.hpp"
#include "tests/gpu/bench_matmul.hpp"
#include "tests/gpu/bench_stream.hpp"
#include "tests/gpu/check.hpp"
#include "tests/gpu/cublas.hpp"

namespace dyn::gpu_check {
namespace {

using ptx::cuda::Context;

constexpr int interleaved_rounds = 15, most_copies = 64;
constexpr double batch_seconds = 300e-6;  ///< seconds of one timed batch of launches, at least

std::vector<MatmulShape> read_shapes(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument("--shapes: cannot read " + path);
  std::vector<MatmulShape> shapes;
  for (std::string line; std::getline(file, line);) {
    MatmulShape shape;
    if (std::istringstream(line) >> shape.m >> shape.n >> shape.k) shapes.push_back(shape);
  }
  return shapes;
}

struct Times {
  double dyn = std::numeric_limits<double>::infinity(),
         cublas = std::numeric_limits<double>::infinity();
};

class Bench {
 public:
  explicit Bench(const Settings& settings)
      : settings_(settings),
        device_(open(settings)),
        context_(ptx::cuda::system_driver(), settings.gpu.empty() ? 0 : std::stoi(settings.gpu)),
        scope_(context_),
        stream_(context_) {
    std::string why;
    cublas_ = Cublas::open(settings.cublas, stream_.handle(), why);
    if (cublas_ == nullptr) std::printf("without cuBLAS: %s\n", why.c_str());
  }

  void heading() const {
    std::printf(
        "%s, CUDA %s, cuBLAS %d; microseconds, best of %d interleaved rounds; warm: the same "
        "operands again, cold: rotated\n\n",
        device_->name().c_str(), ptx::cuda::version_text(context_.driver().version()).c_str(),
        cublas_ ? cublas_->version() : 0, interleaved_rounds);
    std::printf(
        "| M N K | precision | dyn warm | cuBLAS warm | ratio | dyn cold | cuBLAS cold | ratio | "
        "dyn TFLOP/s | limit | "
        "difference |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n");
  }

  /// Prints a row; returns the ratio of the times when cold.
  double row(const MatmulShape& shape, bool bf16) const {
    const double bytes =
        (bf16 ? 2.0 : 4.0) *
        static_cast<double>(shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
    const int copies = static_cast<int>(
        std::clamp(std::ceil(2.0 * static_cast<double>(device_->machine().l2_bytes) / bytes) + 1,
                   1.0, double{most_copies}));
    const BenchMatmul matmul(*device_, dtype_of(bf16), shape, tiles(bf16), copies, settings_.seed);
    const double difference = cublas_ ? check(matmul, shape, bf16) : 0;
    const Times warm = measure(matmul, shape, bf16, 1), cold = measure(matmul, shape, bf16, copies);
    const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                         static_cast<double>(shape.k);
    std::printf(
        "| %lld %lld %lld | %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f | %.2f | %.1e |\n",
        static_cast<long long>(shape.m), static_cast<long long>(shape.n),
        static_cast<long long>(shape.k), bf16 ? "bf16" : "f32", warm.dyn * 1e6, warm.cublas * 1e6,
        warm.cublas / warm.dyn, cold.dyn * 1e6, cold.cublas * 1e6, cold.cublas / cold.dyn,
        flops / cold.dyn * 1e-12, limit_seconds(flops, bytes, bf16) * 1e6, difference);
    std::fflush(stdout);
    return cold.cublas / cold.dyn;
  }

  /// Prints each candidate's predicted and measured time with the same operands again; returns the
  /// measured time of dyn's choice over that of the fastest.
  double candidates(const MatmulShape& shape, bool bf16) const {
    double fastest = std::numeric_limits<double>::infinity();
    for (const choice::GpuTile& tile : tiles(bf16)) {
      const BenchMatmul matmul(*device_, dtype_of(bf16), shape, {tile}, 1, settings_.seed);
      const double seconds = own_seconds(matmul);
      fastest = std::min(fastest, seconds);
      print_candidate(shape, bf16, tile.to_string(), matmul.predicted_seconds(), seconds);
    }
    const BenchMatmul chosen(*device_, dtype_of(bf16), shape, tiles(bf16), 1, settings_.seed);
    const double seconds = own_seconds(chosen);
    print_candidate(shape, bf16, "dyn's choice", chosen.predicted_seconds(), seconds);
    return seconds / fastest;
  }

 private:
  static DType dtype_of(bool bf16) { return bf16 ? DType::bf16 : DType::f32; }

  std::vector<choice::GpuTile> tiles(bool bf16) const {
    return choice::gpu_tiles(device_->machine(), dtype_of(bf16), false);
  }

  static void print_candidate(const MatmulShape& shape, bool bf16, const std::string& tile,
                              double predicted, double measured) {
    std::printf("%lld,%lld,%lld,%s,\"%s\",%.2f,%.2f\n", static_cast<long long>(shape.m),
                static_cast<long long>(shape.n), static_cast<long long>(shape.k),
                bf16 ? "bf16" : "f32", tile.c_str(), predicted * 1e6, measured * 1e6);
    std::fflush(stdout);
  }

  double own_seconds(const BenchMatmul& matmul) const {
    const auto own = [&](int) { matmul.launch(context_, stream_.handle(), 0); };
    const int calls = std::max(
        3, static_cast<int>(std::ceil(batch_seconds / std::max(1e-6, stream_.seconds(3, own)))));
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 5; ++round) best = std::min(best, stream_.seconds(calls, own));
    return best;
  }

  void run_cublas(const BenchMatmul& matmul, const MatmulShape& shape, bool bf16, int index) const {
    const MatmulOperands& set = matmul.operands(index);
    cublas_->multiply(bf16, static_cast<int>(shape.m), static_cast<int>(shape.n),
                      static_cast<int>(shape.k), set.a.address(), set.b.address(), set.c.address());
  }

  /// The largest difference of both results over sqrt(K), which the sums of such random numbers
  /// grow with.
  double check(const BenchMatmul& matmul, const MatmulShape& shape, bool bf16) const {
    matmul.launch(context_, stream_.handle(), 0);
    context_.check(context_.driver().cuStreamSynchronize(stream_.handle()), "running dyn's kernel");
    const std::vector<float> own = matmul.result();
    run_cublas(matmul, shape, bf16, 0);
    context_.check(context_.driver().cuStreamSynchronize(stream_.handle()), "running cuBLAS");
    const std::vector<float> theirs = matmul.result();
    double worst = 0;
    for (std::size_t i = 0; i < own.size(); ++i)
      worst = std::max(worst, std::fabs(double{own[i]} - double{theirs[i]}));
    return worst / std::sqrt(static_cast<double>(shape.k));
  }

  Times measure(const BenchMatmul& matmul, const MatmulShape& shape, bool bf16, int copies) const {
    const auto own = [&](int i) { matmul.launch(context_, stream_.handle(), i % copies); };
    const auto theirs = [&](int i) { run_cublas(matmul, shape, bf16, i % copies); };
    Times best;
    stream_.seconds(std::max(3, copies), own);
    const int calls = std::max(
        copies,
        static_cast<int>(std::ceil(batch_seconds / std::max(1e-6, stream_.seconds(3, own)))));
    if (cublas_) stream_.seconds(calls, theirs);
    for (int round = 0; round < interleaved_rounds; ++round) {
      best.dyn = std::min(best.dyn, stream_.seconds(calls, own));
      if (cublas_) best.cublas = std::min(best.cublas, stream_.seconds(calls, theirs));
    }
    return best;
  }

  double limit_seconds(double flops, double bytes, bool bf16) const {
    const choice::GpuMachine& machine = device_->machine();
    const double flops_per_second = 2 * (bf16 ? machine.f16_mma_fma : machine.f32_fma) *
                                    machine.multiprocessors * machine.clock_hz;
    return std::max(flops / flops_per_second, bytes / machine.memory_bytes_per_second);
  }

  Settings settings_;
  std::shared_ptr<ptx::PtxDevice> device_;
  Context context_;
  Context::Scope scope_;
  BenchStream stream_;
  std::unique_ptr<Cublas> cublas_;
};

}  // namespace

int benchmark(const Settings& settings) {
  if (settings.device != "cuda") throw std::invalid_argument("benchmark: on a GPU only");
  const std::vector<MatmulShape> shapes = read_shapes(settings.shapes);
  const Bench bench(settings);
  bench.heading();
  for (const bool bf16 : {false, true}) {
    double logarithms = 0;
    for (const MatmulShape& shape : shapes) logarithms += std::log(bench.row(shape, bf16));
    std::printf("\n%s: geometric mean of cuBLAS's cold time over dyn's, %zu shapes: %.3f\n\n",
                bf16 ? "bf16" : "f32", shapes.size(),
                std::exp(logarithms / static_cast<double>(shapes.size())));
  }
  return 0;
}

int candidates(const Settings& settings) {
  if (settings.device != "cuda") throw std::invalid_argument("candidates: on a GPU only");
  const std::vector<MatmulShape> shapes = read_shapes(settings.shapes);
  const Bench bench(settings);
  std::printf("M,N,K,precision,tile,predicted_us,measured_us\n");
  double logarithms = 0;
  for (const MatmulShape& shape : shapes) {
    for (const bool bf16 : {false, true}) logarithms += std::log(bench.candidates(shape, bf16));
  }
  std::fprintf(stderr, "geometric mean of the chosen candidate's time over the fastest's: %.3f\n",
               std::exp(logarithms / (2.0 * static_cast<double>(shapes.size()))));
  return 0;
}

}  // namespace dyn::gpu_check
