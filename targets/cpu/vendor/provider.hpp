#pragma once
// Contractions by oneDNN's primitives. A product goes into the output at once, or into memory of
// the run, where the generated second stage of a split K takes it for its only slice.

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "targets/cpu/contraction/forms.hpp"
#include "targets/cpu/contraction/provider.hpp"
#include "targets/cpu/vendor/cost.hpp"
#include "targets/cpu/vendor/plan.hpp"

namespace dyn::cpu {

/// The library of the forms' context. Its policy is its own: that of a request plays no part.
class OneDnnProvider final : public ContractionProvider {
 public:
  /// `forms` must outlive it.
  explicit OneDnnProvider(const ContractionForms& forms) : forms_(forms) {}

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

  const ContractionForms& forms_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const VendorWeights> weights_;  ///< nullptr until packed ones are used
};

}  // namespace dyn::cpu
