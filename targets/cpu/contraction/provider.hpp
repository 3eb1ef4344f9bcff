#pragma once
// Who can compute a contraction: code that dyn generates, or a library.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "src/rkernel/target/target.hpp"

namespace dyn::cpu {

/// A contraction at known sizes.
struct ContractionRequest {
  std::span<const std::int64_t> ints;  ///< values of the kernel's slots
  int threads = 1;                     ///< it may run on so many
  rkernel::Policy policy = rkernel::Policy::Dyn;
  bool remembered = true;  ///< choices may come from the context's memory
};

/// What a provider would run for one request.
class ContractionOffer {
 public:
  virtual ~ContractionOffer() = default;
  /// What it is expected to take.
  virtual double seconds() const = 0;
  /// nullopt, with the reason, where it turns out that the provider cannot.
  virtual std::optional<rkernel::Launch> launch(std::string& why_not) const = 0;
};

/// Immutable but for what it remembers; thread-safe.
class ContractionProvider {
 public:
  virtual ~ContractionProvider() = default;
  /// Chooses, but makes nothing yet; nullptr, with the reason, where the provider has nothing for
  /// these sizes. The offer must not outlive the request's values.
  virtual std::unique_ptr<const ContractionOffer> offer(const ContractionRequest& request,
                                                        std::string& why_not) const = 0;
  /// All that it considers, each with its words, its expected time and its launch, and what it
  /// takes of them; or the reason why there are none.
  virtual rkernel::Choices candidates(const ContractionRequest& request) const = 0;
};

class ContractionForms;

/// A library that computes contractions too, as all kernels of one target share it. Immutable;
/// thread-safe.
class ContractionLibrary {
 public:
  virtual ~ContractionLibrary() = default;
  /// Whether it may compute anything, so that kernels have second stages for it.
  virtual bool is_there() const noexcept = 0;
  /// Policy Dyn takes it where it is expected to be faster.
  virtual bool beside_dyn() const noexcept = 0;
  /// `forms` and the library must outlive the provider.
  virtual std::unique_ptr<const ContractionProvider> provider_for(
      const ContractionForms& forms) const = 0;
};

}  // namespace dyn::cpu
