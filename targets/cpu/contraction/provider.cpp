#include "targets/cpu/contraction/provider.hpp"

namespace dyn::cpu {
namespace {

constexpr const char* uses_none = "this policy uses no vendor's library";

class NoProvider final : public ContractionProvider {
 public:
  std::unique_ptr<const ContractionOffer> offer(const ContractionRequest&,
                                                std::string& why_not) const override {
    why_not = uses_none;
    return nullptr;
  }
  rkernel::Choices candidates(const ContractionRequest&) const override {
    return {{}, 0, uses_none};
  }
};

class NoLibrary final : public ContractionLibrary {
 public:
  bool is_there() const noexcept override { return false; }
  bool beside_dyn() const noexcept override { return false; }
  std::unique_ptr<const ContractionProvider> provider_for(const ContractionForms&) const override {
    return std::make_unique<const NoProvider>();
  }
};

}  // namespace

std::shared_ptr<const ContractionLibrary> no_library() {
  return std::make_shared<const NoLibrary>();
}

}  // namespace dyn::cpu
