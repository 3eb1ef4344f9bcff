#include "targets/cpu/vendor/weights.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "src/base/rounding.hpp"

namespace dyn::cpu {
namespace {

constexpr std::int64_t depth_step = 16;  ///< of K in oneDNN's blocks of weights

}  // namespace

VendorWeights::VendorWeights(const vendor::OneDnn& library, const rkernel::PackedLayout& layout)
    : layout_(layout),
      tag_(library.panel_tag(layout.panel)),
      form_(tag_ == 0                    ? Form::Rows
            : layout.k % depth_step == 0 ? Form::AsTheyLie
                                         : Form::DeeperPanels),
      depth_(round_up(layout.k, depth_step)),
      row_(round_up(layout.n, layout.panel)),
      copy_(nullptr, [](float* memory) { std::free(memory); }) {}

void VendorWeights::describe(vendor::ProductForm& form) const {
  form.b_tag = tag_;
  form.b_k = row_;
  form.b_n = 1;
}

const float* VendorWeights::from_column(const float* packed, std::int64_t column) const {
  if (form_ == Form::AsTheyLie) return packed + column * layout_.k;
  std::call_once(copied_, [&] { copy(packed); });
  return copy_.get() + (form_ == Form::Rows ? column : column * depth_);
}

void VendorWeights::copy(const float* packed) const {
  constexpr std::size_t alignment = 64;
  const std::int64_t width = layout_.panel, panel_elements = layout_.k * width;
  const std::int64_t elements = form_ == Form::Rows ? layout_.k * row_ : depth_ * row_;
  const auto bytes = static_cast<std::size_t>(round_up(elements * 4, alignment));
  copy_.reset(static_cast<float*>(std::aligned_alloc(alignment, bytes)));
  if (!copy_) throw std::bad_alloc();
  for (std::int64_t panel = 0; panel < layout_.panels(); ++panel) {
    const float* from = packed + panel * panel_elements;
    if (form_ == Form::DeeperPanels) {
      float* to = copy_.get() + panel * depth_ * width;
      std::fill(std::copy(from, from + panel_elements, to), to + depth_ * width, 0.0f);
      continue;
    }
    for (std::int64_t k = 0; k < layout_.k; ++k)
      std::copy(from + k * width, from + (k + 1) * width, copy_.get() + k * row_ + panel * width);
  }
}

}  // namespace dyn::cpu
