#pragma once
// What the contraction kernels of one target share: main loops, the machine, and the memory of
// choices.

#include <map>
#include <unordered_map>
#include <vector>

#include "src/choice/cpu/choice_memory.hpp"
#include "src/choice/cpu/select.hpp"
#include "src/choice/cpu/tuned_choices.hpp"
#include "targets/cpu/contraction/provider.hpp"
#include "targets/cpu/policies/paper_policies.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// No library: its providers have nothing, and say that the policy uses none.
std::shared_ptr<const ContractionLibrary> no_library();

struct ContractionLoops {
  MainLoopTable f32;
  MainLoopTable dot = {};  ///< empty where no contraction has a form with lanes along K
  std::map<rkernel::Factors, MainLoopTable> narrow = {};  ///< for other factors than f32
};

struct ContractionSettings {
  bool deterministic = false;  ///< K is split by the shape alone
  rkernel::Policy policy = rkernel::Policy::Dyn;
  PolicyFigures figures = {};  ///< of the blocks that policies time
  std::shared_ptr<const ContractionLibrary> library = no_library();
  std::shared_ptr<const rkernel::Tuning> tuning = nullptr;  ///< nullptr: none
};

/// What all contraction kernels of one target share. Immutable after load but for the memory of
/// choices, which is thread-safe.
class ContractionContext {
 public:
  ContractionContext(const codegen::Isa& isa, choice::Machine machine,
                     const ContractionLoops& loops, ContractionSettings settings = {});

  const codegen::Isa& isa() const noexcept { return isa_; }
  const choice::Machine& machine() const noexcept { return machine_; }
  rkernel::Policy policy() const noexcept { return settings_.policy; }
  /// The papers' policies that are ready; nullptr: none.
  const PaperPolicies* policies() const noexcept { return policies_.get(); }
  const ContractionLibrary& library() const noexcept { return *settings_.library; }
  /// Never where it is deterministic: the library's sums are its own.
  bool library_beside_dyn() const noexcept { return library().beside_dyn() && !deterministic(); }
  bool deterministic() const noexcept { return settings_.deterministic; }
  /// Whether any choice may split K.
  bool splits() const noexcept { return deterministic() || machine_.threads > 1; }
  const choice::CandidateSet& candidates() const noexcept { return candidates_; }
  /// Addresses of tables of main loops by rows, for tiles of so many columns and these factors; 0:
  /// none.
  std::int64_t table(int columns, const rkernel::Factors& factors = {}) const;
  std::int64_t dot_table(int columns) const { return address(dot_tables_, columns); }
  /// The choice for a shape, remembered: a tuned one where there is one.
  choice::Choice choose(const choice::ContractionShape& shape, int threads) const;
  /// The same, made anew.
  choice::Choice choose_anew(const choice::ContractionShape& shape, int threads) const;

 private:
  using Tables = std::unordered_map<int, std::vector<MainLoop>>;
  static std::int64_t address(const Tables& tables, int columns);

  const codegen::Isa& isa_;
  choice::Machine machine_;
  ContractionSettings settings_;
  choice::CandidateSet candidates_;
  std::map<rkernel::Factors, Tables> tables_;
  Tables dot_tables_;
  choice::TunedChoices tuned_;
  mutable choice::ChoiceMemory memory_;
  std::unique_ptr<const PaperPolicies> policies_;
};

}  // namespace dyn::cpu
