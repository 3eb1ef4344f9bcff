#pragma once
// A contraction of known sizes in blocks that oneDNN's primitives compute, each on the thread that
// takes its ticket.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/rkernel/target/target.hpp"
#include "targets/cpu/vendor/blocks.hpp"
#include "targets/cpu/vendor/weights.hpp"
#include "targets/vendor/onednn.hpp"
#include "targets/vendor/product.hpp"

namespace dyn::cpu {

/// An operand of the contraction, in elements: (row, column) of the current matrix lies at
/// pointers[operand] + offset + row * VendorOperand::row + ...
struct VendorOperand {
  int operand = 0;  ///< -1: KernelArgs::shared
  std::int64_t offset = 0;
  std::int64_t row = 1,
               column = 1;  ///< strides: of A along m and k, of B along k and n, of C along m and n
};

struct VendorBatchAxis {
  std::int64_t extent = 1, a = 0, b = 0, c = 0;  ///< strides
};

struct VendorProblem {
  std::int64_t m = 1, n = 1, k = 1;
  std::vector<VendorBatchAxis> batch;  ///< outermost first
  VendorOperand a, b, c;
  std::shared_ptr<const VendorWeights> weights;  ///< a packed B; nullptr: B is fresh
  std::int64_t panel = 1;
};

/// Immutable; run() is thread-safe. Kept by its launch.
class VendorPlan {
 public:
  /// Throws vendor::Unsupported where the library has no fast primitive for it. All sizes are at
  /// least 1.
  VendorPlan(std::shared_ptr<const vendor::OneDnn> library, VendorProblem problem, int threads);

  std::int64_t tickets() const noexcept { return batches_ * blocks_.count(); }
  std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
  /// What this object takes, and what the library keeps for it, roughly.
  std::size_t bytes() const noexcept;
  /// "oneDNN 2.6.3, 2 blocks of 256 x 768".
  std::string words() const;

  /// A rkernel::KernelFunction: `args->kept` is a VendorPlan. Leaves Status::LibraryFailed where
  /// the library or memory fails.
  static void run(const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count,
                  void* scratch);

 private:
  void make_products();
  /// The product of a block of m x n.
  void make_product(std::int64_t m, std::int64_t n);
  void run_ticket(const rkernel::KernelArgs& args, std::int64_t ticket, void* scratch) const;
  static std::int64_t size_of_block(std::int64_t size, std::int64_t block, std::int64_t index) {
    return std::min(block, size - index * block);
  }

  std::shared_ptr<const vendor::OneDnn> library_;
  VendorProblem problem_;
  std::int64_t batches_ = 1;
  VendorBlocks blocks_;
  /// A product of one size of blocks, and what it cannot read or write as it lies: oneDNN's fast
  /// code for weights in blocks wants dense rows.
  struct BlockProduct {
    BlockProduct(const vendor::OneDnn& library, const vendor::ProductForm& form, bool copies_a,
                 bool copies_c, std::size_t a_bytes, std::size_t copies_bytes);
    vendor::Product product;
    bool copy_a, copy_c;
    std::size_t c_scratch, library_scratch;  ///< byte offsets in scratch, behind the copy of A
  };
  std::map<std::pair<std::int64_t, std::int64_t>, BlockProduct>
      products_;  ///< by rows and columns: of whole blocks, and of the last ones
  std::size_t scratch_bytes_ = 0;
};

}  // namespace dyn::cpu
