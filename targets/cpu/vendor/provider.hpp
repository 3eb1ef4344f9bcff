#pragma once
// Contractions by oneDNN's primitives. A product goes into the output at once, or into memory of
// the run, where the generated second stage of a split K takes it for its only slice.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "targets/cpu/contraction/forms.hpp"
#include "targets/cpu/contraction/provider.hpp"
#include "targets/cpu/vendor/cost.hpp"
#include "targets/cpu/vendor/plan.hpp"
#include "targets/vendor/onednn.hpp"

namespace dyn::cpu {

/// oneDNN as a target uses it.
struct Vendor {
  std::shared_ptr<const vendor::OneDnn> library;  ///< nullptr: there is none
  std::string why_not;                            ///< the reason for that
  VendorFigures figures;
  bool beside_dyn = false;  ///< policy Dyn takes it where it is expected to be faster
};

/// What it takes does not depend on a request's policy.
class OneDnnProvider final : public ContractionProvider {
 public:
  /// Both must outlive it.
  OneDnnProvider(const Vendor& vendor, const ContractionForms& forms)
      : vendor_(vendor), forms_(forms) {}

  /// The offer's launch() makes primitives, some tenths of a millisecond each where the library
  /// does not know them yet, and may refuse.
  std::unique_ptr<const ContractionOffer> offer(const ContractionRequest& request,
                                                std::string& why_not) const override;
  /// At most one.
  rkernel::Choices candidates(const ContractionRequest& request) const override;

 private:
  /// What is known before primitives are made.
  struct Chosen {
    choice::ContractionShape shape;
    int output;  ///< the operand that takes the sums as they are; -1: a second stage follows
    VendorChoice dealt;
  };
  class Offer;

  std::optional<Chosen> choose(const ContractionRequest& request, std::string& why_not) const;
  std::optional<rkernel::Candidate> make(const ContractionRequest& request, const Chosen& chosen,
                                         std::string& why_not) const;
  VendorProblem problem_of(const ContractionRequest& request, const Chosen& chosen) const;
  std::shared_ptr<const VendorWeights> weights(const choice::ContractionShape& shape) const;

  const Vendor& vendor_;
  const ContractionForms& forms_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const VendorWeights> weights_;  ///< nullptr until packed ones are used
};

class OneDnnLibrary final : public ContractionLibrary {
 public:
  explicit OneDnnLibrary(Vendor vendor) : vendor_(std::move(vendor)) {}
  bool is_there() const noexcept override { return vendor_.library != nullptr; }
  bool beside_dyn() const noexcept override { return vendor_.beside_dyn; }
  std::unique_ptr<const ContractionProvider> provider_for(
      const ContractionForms& forms) const override {
    return std::make_unique<const OneDnnProvider>(vendor_, forms);
  }

 private:
  Vendor vendor_;
};

}  // namespace dyn::cpu
