#pragma once
// Contractions by code that dyn generates: chosen by a policy, launched as programs of regions.

#include <functional>
#include <string>
#include <vector>

#include "targets/cpu/contraction/forms.hpp"
#include "targets/cpu/contraction/provider.hpp"

namespace dyn::cpu {

class GeneratedPrograms final : public ContractionProvider {
 public:
  /// `forms` must outlive it.
  explicit GeneratedPrograms(const ContractionForms& forms) : forms_(forms) {}

  /// There always is one, which never refuses.
  std::unique_ptr<const ContractionOffer> offer(const ContractionRequest& request,
                                                std::string& why_not) const override;
  rkernel::Choices candidates(const ContractionRequest& request) const override;

  /// The policy's choice, or dyn's own where that has none for these sizes.
  choice::Choice choose(const ContractionRequest& request) const;
  /// Whether the request's policy, a paper's, has a program of its own for these sizes.
  bool has_paper_choice(const ContractionRequest& request) const;
  /// The reason why it has none.
  std::string why_none(const ContractionRequest& request) const;
  rkernel::Launch launch(std::span<const std::int64_t> ints, const choice::Choice& choice) const;
  /// The same with its words; `shape`: the choice's form at these sizes.
  rkernel::Candidate candidate(std::span<const std::int64_t> ints,
                               const choice::ContractionShape& shape,
                               const choice::Choice& considered) const;
  /// All that policy Dyn could choose, each with its predicted time.
  void for_each_choice(const ContractionRequest& request,
                       const std::function<void(const choice::Choice&)>& visit) const;
  /// A line for people, and one for each term of the cost.
  std::string describe(std::span<const std::int64_t> ints, const choice::Choice& choice,
                       bool chosen) const;
  /// The sizes as the form sees them that the choice runs.
  choice::ContractionShape shape_for(const choice::Choice& choice,
                                     std::span<const std::int64_t> ints) const;

 private:
  choice::Choice choose_as_dyn(const ContractionRequest& request) const;
  std::optional<choice::Choice> choose_by_paper(const ContractionRequest& request) const;
  /// `predicted`: Choice::seconds is the policy's own prediction.
  using VisitChoice = std::function<void(const choice::ContractionShape& shape,
                                         const choice::Choice& choice, bool predicted)>;
  /// All that the request's policy considers.
  void visit_choices(const ContractionRequest& request, const VisitChoice& visit) const;

  const ContractionForms& forms_;
};

}  // namespace dyn::cpu
