// OpenBLAS, BLIS, MKL and other libraries with the CBLAS interface. Constant operands are packed
// where the library can: MKL.

#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <algorithm>

#include "src/peer/backend.hpp"
#include "src/peer/buffer.hpp"
#include "src/peer/matmul_shape.hpp"

namespace dyn::peer {
namespace {

// As in cblas.h and mkl_cblas.h; integers have 32 bits.
enum Order { row_major = 101 };
enum Transpose { as_it_is = 111, transposed = 112, packed = 151 };
enum Identifier { a_matrix = 161, b_matrix = 162 };

using Sgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                   const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
using PackGetSize = std::size_t(int identifier, int m, int n, int k);
using Pack = void(int order, int identifier, int transpose, int m, int n, int k, float alpha,
                  const float* source, int ld, float* target);
using Compute = void(int order, int transpose_a, int transpose_b, int m, int n, int k,
                     const float* a, int lda, const float* b, int ldb, float beta, float* c,
                     int ldc);

/// The packing functions; null where the library has none.
struct Functions {
  Sgemm* sgemm = nullptr;
  PackGetSize* pack_get_size = nullptr;
  Pack* pack = nullptr;
  Compute* compute = nullptr;
};

int word(bool transpose) { return transpose ? transposed : as_it_is; }

struct Copy {
  Buffer a, b, c;
  std::vector<Buffer> packed_b;  ///< packed memory for each matrix of the batch; none: not packed
};

class BlasRunner : public Runner {
 public:
  BlasRunner(const Functions& functions, const Problem& problem)
      : functions_(functions), shape_(matmul_shape(problem)) {
    const auto is_f32 = [](const Operand& operand) { return operand.dtype == "f32"; };
    if (!std::ranges::all_of(problem.operands, is_f32)) throw Unsupported("only products of f32");
    const bool packs = functions_.pack != nullptr && problem.operands[1].constant;
    const std::int64_t c_size = element_count(problem.output.shape);
    for (int copy = 0; copy < problem.copies; ++copy) {
      const auto seed = static_cast<std::uint32_t>(2 * copy);
      copies_.push_back({random_floats(element_count(problem.operands[0].shape), seed + 1),
                         random_floats(element_count(problem.operands[1].shape), seed + 2),
                         random_floats(c_size, 0),
                         {}});
      if (packs) pack(copies_.back());
      if (copy > 0) {
        if (packs) copies_.back().b = {};
        continue;
      }
      run_copy(copies_.front());
      const Copy& first = copies_.front();
      check_matmul(shape_, {first.a.data()}, {first.b.data()}, {first.c.data()});
      if (packs) copies_.front().b = {};
    }
  }

  void run() override {
    for (const Copy& copy : copies_) run_copy(copy);
  }

 private:
  int m() const { return static_cast<int>(shape_.m); }
  int n() const { return static_cast<int>(shape_.n); }
  int k() const { return static_cast<int>(shape_.k); }
  int lda() const { return static_cast<int>(shape_.lda); }
  int ldb() const { return static_cast<int>(shape_.ldb); }

  void pack(Copy& copy) {
    for (const std::int64_t begin : shape_.b_begin) {
      Buffer& target =
          copy.packed_b.emplace_back(functions_.pack_get_size(b_matrix, m(), n(), k()));
      functions_.pack(row_major, b_matrix, word(shape_.transpose_b), m(), n(), k(), 1,
                      copy.b.floats() + begin, ldb(), target.floats());
    }
  }

  void run_copy(const Copy& copy) {
    for (std::size_t i = 0; i < shape_.a_begin.size(); ++i) {
      const float* a = copy.a.floats() + shape_.a_begin[i];
      float* c = copy.c.floats() + static_cast<std::int64_t>(i) * shape_.m * shape_.n;
      if (copy.packed_b.empty()) {
        functions_.sgemm(row_major, word(shape_.transpose_a), word(shape_.transpose_b), m(), n(),
                         k(), 1, a, lda(), copy.b.floats() + shape_.b_begin[i], ldb(), 0, c, n());
      } else {
        functions_.compute(row_major, word(shape_.transpose_a), packed, m(), n(), k(), a, lda(),
                           copy.packed_b[i].floats(), ldb(), 0, c, n());
      }
    }
  }

  Functions functions_;
  MatmulShape shape_;
  std::vector<Copy> copies_;
};

std::string mkl_version(const Library& library) {
  std::array<char, 256> text = {};
  library.function<void(char*, int)>("MKL_Get_Version_String")(text.data(),
                                                               static_cast<int>(text.size()) - 1);
  std::string version = text.data();
  while (version.ends_with(' ')) version.pop_back();
  return version;
}

class Blas : public Backend {
 public:
  Blas(Library library, int threads) : library_(std::move(library)) {
    functions_.sgemm = library_.function<Sgemm>("cblas_sgemm");
    if (library_.has("MKL_Get_Version_String")) {
      version_ = mkl_version(library_);
      library_.function<void(int)>("MKL_Set_Num_Threads")(threads);
      functions_.pack_get_size = library_.function<PackGetSize>("cblas_sgemm_pack_get_size");
      functions_.pack = library_.function<Pack>("cblas_sgemm_pack");
      functions_.compute = library_.function<Compute>("cblas_sgemm_compute");
    } else if (library_.has("openblas_get_config")) {
      version_ = library_.function<const char*()>("openblas_get_config")();
      library_.function<void(int)>("openblas_set_num_threads")(threads);
    } else if (library_.has("bli_info_get_version_str")) {
      version_ =
          fmt::format("BLIS {}", library_.function<const char*()>("bli_info_get_version_str")());
      library_.function<void(std::int64_t)>("bli_thread_set_num_threads")(threads);
    } else {
      version_ = fmt::format("{} (its threads are its own)", library_.file());
    }
  }

  std::string version() const override { return version_; }

  std::unique_ptr<Runner> prepare(const Problem& problem) override {
    if (problem.op != "matmul") throw Unsupported(fmt::format("a BLAS has no {}", problem.op));
    return std::make_unique<BlasRunner>(functions_, problem);
  }

 private:
  Library library_;
  Functions functions_;
  std::string version_;
};

}  // namespace

std::unique_ptr<Backend> open_blas(Library library, int threads) {
  return std::make_unique<Blas>(std::move(library), threads);
}

}  // namespace dyn::peer
