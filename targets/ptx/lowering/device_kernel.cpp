#include "targets/ptx/lowering/device_kernel.hpp"

#include "targets/ptx/lowering/listing.hpp"

namespace dyn::ptx {

std::vector<rkernel::CodeListing> DeviceKernel::listings() const {
  const std::vector<codegen::KernelSource> all = sources();
  std::vector<rkernel::CodeListing> listings;
  for (std::size_t i = 0; i < all.size(); ++i) listings.push_back(list_code(class_name(i), all[i]));
  return listings;
}

std::string DeviceKernel::listings_key() const { return codegen::joined_keys(sources()); }

std::vector<rkernel::CodeListing> DeviceKernel::listings_at(
    const rkernel::PlanRequest& request) const {
  const std::optional<std::size_t> index = class_at(request);
  if (!index) return {};
  return {list_code(class_name(*index), source_at(*index))};
}

std::string DeviceKernel::class_keys() const {
  std::string text;
  for (const codegen::KernelSource& source : sources()) text += "class " + source.key + "\n";
  return text;
}

}  // namespace dyn::ptx
