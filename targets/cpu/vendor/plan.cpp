#include "targets/cpu/vendor/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"

namespace dyn::cpu {
namespace {

constexpr std::size_t bytes_of_product = 64 << 10;  ///< code and descriptors, roughly

/// So many f32 take whole cache lines.
std::size_t bytes_of(std::int64_t elements) {
  return static_cast<std::size_t>(round_up(elements * float_bytes, line_bytes));
}

void copy_matrix(std::int64_t rows, std::int64_t columns, const float* from, std::int64_t row,
                 std::int64_t column, float* to, std::int64_t to_row) {
  constexpr std::int64_t block =
      16;  // columns whose lines stay in L1 where they are what is contiguous
  if (column == 1) {
    for (std::int64_t i = 0; i < rows; ++i) std::copy_n(from + i * row, columns, to + i * to_row);
    return;
  }
  for (std::int64_t first = 0; first < columns; first += block) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = first; j < std::min(first + block, columns); ++j)
        to[i * to_row + j] = from[i * row + j * column];
    }
  }
}

}  // namespace

VendorPlan::BlockProduct::BlockProduct(const vendor::OneDnn& library,
                                       const vendor::ProductForm& form, bool copies_a,
                                       bool copies_c, std::size_t a_bytes, std::size_t copies_bytes)
    : product(library, form),
      copy_a(copies_a),
      copy_c(copies_c),
      c_scratch(a_bytes),
      library_scratch(copies_bytes) {}

VendorPlan::VendorPlan(std::shared_ptr<const vendor::OneDnn> library, VendorProblem problem,
                       int threads)
    : library_(std::move(library)), problem_(std::move(problem)) {
  for (const VendorBatchAxis& axis : problem_.batch) batches_ *= axis.extent;
  blocks_ = cut_blocks({batches_, problem_.m, problem_.n, problem_.k}, problem_.panel, threads);
  make_products();
}

void VendorPlan::make_products() {
  for (const std::int64_t m :
       {blocks_.m, size_of_block(problem_.m, blocks_.m, blocks_.m_blocks - 1)}) {
    for (const std::int64_t n :
         {blocks_.n, size_of_block(problem_.n, blocks_.n, blocks_.n_blocks - 1)}) {
      if (!products_.contains({m, n})) make_product(m, n);
    }
  }
}

void VendorPlan::make_product(std::int64_t m, std::int64_t n) {
  vendor::ProductForm form{.m = m,
                           .n = n,
                           .k = problem_.k,
                           .a_row = problem_.a.row,
                           .a_k = problem_.a.column,
                           .b_k = problem_.b.row,
                           .b_n = problem_.b.column,
                           .c_row = m == 1 ? n : problem_.c.row};
  if (problem_.weights) problem_.weights->describe(form);
  const bool a_is_matrix =
      (form.a_k == 1 && form.a_row >= form.k) || (form.a_row == 1 && form.a_k >= m);
  const auto add = [&](bool copy_a, bool copy_c) {
    if (copy_a) form.a_row = form.k, form.a_k = 1;
    if (copy_c) form.c_row = n;
    const std::size_t a_bytes = copy_a ? bytes_of(m * form.k) : 0,
                      c_bytes = copy_c ? bytes_of(m * n) : 0;
    const auto place = products_
                           .emplace(std::piecewise_construct, std::forward_as_tuple(m, n),
                                    std::forward_as_tuple(*library_, form, copy_a, copy_c, a_bytes,
                                                          a_bytes + c_bytes))
                           .first;
    scratch_bytes_ =
        std::max(scratch_bytes_, a_bytes + c_bytes + place->second.product.scratch_bytes());
  };
  const bool a_is_dense = form.a_k == 1 && form.a_row == form.k, c_is_dense = form.c_row == n;
  if (form.b_tag == 0 && a_is_matrix) {
    try {
      return add(false, false);
    } catch (const vendor::Unsupported&) {  // perhaps for dense rows
    }
  }
  add(!a_is_dense, !c_is_dense);
}

std::size_t VendorPlan::bytes() const noexcept {
  return sizeof(VendorPlan) + products_.size() * bytes_of_product;
}

std::string VendorPlan::words() const {
  const std::int64_t blocks = tickets();
  return fmt::format("{}, {} block{} of {} x {}", library_->version(), blocks,
                     blocks == 1 ? "" : "s", blocks_.m, blocks_.n);
}

void VendorPlan::run(const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count,
                     void* scratch) {
  const auto& plan = *static_cast<const VendorPlan*>(args->kept);
  try {
    const vendor::OneDnn::OneThread one_thread(*plan.library_);
    for (std::int64_t ticket = first; ticket < first + count; ++ticket)
      plan.run_ticket(*args, ticket, scratch);
  } catch (const std::exception&) {  // vendor::Unsupported or std::bad_alloc; generated callers
                                     // know no exceptions
    std::int32_t ok = 0;
    args->status->compare_exchange_strong(
        ok, static_cast<std::int32_t>(rkernel::Status::LibraryFailed));
  }
}

void VendorPlan::run_ticket(const rkernel::KernelArgs& args, std::int64_t ticket,
                            void* scratch) const {
  const std::int64_t n_block = ticket % blocks_.n_blocks,
                     m_block = ticket / blocks_.n_blocks % blocks_.m_blocks;
  std::int64_t batch = ticket / blocks_.n_blocks / blocks_.m_blocks;
  const std::int64_t row = m_block * blocks_.m, column = n_block * blocks_.n;
  std::int64_t a = problem_.a.offset + row * problem_.a.row,
               b = problem_.b.offset + column * problem_.b.column;
  std::int64_t c = problem_.c.offset + row * problem_.c.row + column;
  for (auto axis = problem_.batch.rbegin(); axis != problem_.batch.rend(); ++axis) {
    const std::int64_t index = batch % axis->extent;
    batch /= axis->extent;
    a += index * axis->a;
    b += index * axis->b;
    c += index * axis->c;
  }
  const auto base = [&](const VendorOperand& of) {
    return static_cast<float*>(of.operand < 0 ? args.shared : args.pointers[of.operand]);
  };
  const float* weights = problem_.weights ? problem_.weights->from_column(base(problem_.b), column)
                                          : base(problem_.b) + b;
  const std::int64_t rows = size_of_block(problem_.m, blocks_.m, m_block),
                     columns = size_of_block(problem_.n, blocks_.n, n_block);
  const BlockProduct& block = products_.at({rows, columns});
  auto* own = static_cast<std::byte*>(scratch);
  const float* from = base(problem_.a) + a;
  float *into = base(problem_.c) + c, *sums = into;
  if (block.copy_a) {
    copy_matrix(rows, problem_.k, from, problem_.a.row, problem_.a.column,
                reinterpret_cast<float*>(own), problem_.k);
    from = reinterpret_cast<float*>(own);
  }
  if (block.copy_c) sums = reinterpret_cast<float*>(own + block.c_scratch);
  vendor::Product::Executor(block.product, own + block.library_scratch).run(from, weights, sums);
  if (block.copy_c) copy_matrix(rows, columns, sums, columns, 1, into, problem_.c.row);
}

}  // namespace dyn::cpu
