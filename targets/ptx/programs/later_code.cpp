#include "targets/ptx/programs/later_code.hpp"

#include <algorithm>
#include <mutex>

namespace dyn::ptx {

std::size_t LaterCode::number_of(const GpuContractionClass& shape_class,
                                 const std::function<codegen::KernelSource()>& source) {
  const auto known = [&] {
    return static_cast<std::size_t>(std::ranges::find(classes_, shape_class, &Class::shape_class) -
                                    classes_.begin());
  };
  {
    const std::shared_lock lock(mutex_);
    if (const std::size_t number = known(); number < classes_.size()) return number;
  }
  const void* const function = on_demand_ ? on_demand_(source()) : nullptr;
  const std::unique_lock lock(mutex_);
  const std::size_t number = known();
  if (number == classes_.size()) classes_.push_back({shape_class, function});
  return number;
}

const LaterCode::Class& LaterCode::at(std::size_t number) const {
  const std::shared_lock lock(mutex_);
  return classes_.at(number);
}

}  // namespace dyn::ptx
