#pragma once
// A product of two matrices as a primitive of oneDNN that runs on the calling thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "targets/vendor/onednn.hpp"

namespace dyn::vendor {

/// C(m, n) = A(m, k) * B(k, n) in f32; strides in elements. All sizes are at least 1.
struct ProductForm {
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t a_row = 1, a_k = 1;  ///< one of them is 1
  std::int64_t b_k = 1, b_n = 1;    ///< one of them is 1; without meaning where b_tag is not 0
  int b_tag = 0;                    ///< OneDnn::panel_tag()
  std::int64_t c_row = 1;
};

/// Thread-safe: each execution has memory objects of its own. The library must outlive it.
class Product {
 public:
  /// Throws Unsupported where the library refuses, or has only its slow reference code.
  Product(const OneDnn& library, const ProductForm& form);

  /// Bytes of the memory that an execution needs, aligned to 64 bytes.
  std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }

  /// Objects for executions on one thread at a time, taken from the product and given back at the
  /// end.
  class Executor {
   public:
    Executor(const Product& product, void* scratch);
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;
    /// Throws Unsupported where the library reports an error. The calling thread must hold a
    /// OneThread.
    void run(const float* a, const float* b, float* c);

   private:
    friend class Product;
    const Product& product_;
    struct Objects;
    std::unique_ptr<Objects> objects_;
  };

  ~Product();

 private:
  const OneDnn& library_;
  Handle desc_, primitive_;
  MemoryDesc a_, b_, c_, scratchpad_;
  std::size_t scratch_bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Executor::Objects>> idle_;
};

}  // namespace dyn::vendor
