#pragma once
// What the contraction kernels of one target share: main loops, the machine, and the memory of choices.

#include <map>
#include <unordered_map>
#include <vector>

#include "src/rkernel/choice_memory.hpp"
#include "src/rkernel/select.hpp"
#include "targets/cpu/isa.hpp"
#include "targets/cpu/main_loop.hpp"
#include "targets/cpu/policy_book.hpp"
#include "targets/vendor/onednn.hpp"

namespace dyn::cpu {

/// What all contraction kernels of one target share. Immutable after load but for the memory of choices, which is thread-safe.
class ContractionContext {
 public:
  /// `dot_loops` may be empty where no contraction has a form with lanes along K.
  /// `deterministic`: K is split by the shape alone. `narrow_loops`: main loops for weights in other dtypes than f32.
  ContractionContext(const Isa& isa, rkernel::Machine machine, const MainLoopTable& loops, const MainLoopTable& dot_loops,
                     bool deterministic = false, const std::map<DType, MainLoopTable>& narrow_loops = {});
  /// Choices are made by this policy from now on; before the context is shared. `speeds`: of block_kernels(machine()), where it uses micro-kernels.
  void set_policy(rkernel::Policy policy, const std::vector<BlockSpeed>& speeds);
  /// The vendor's library computes contractions too, where it is there; before kernels are made. nullptr: with the reason.
  void set_vendor(std::shared_ptr<const vendor::OneDnn> library, std::string why_not);

  const Isa& isa() const noexcept { return isa_; }
  const rkernel::Machine& machine() const noexcept { return machine_; }
  rkernel::Policy policy() const noexcept { return policy_; }
  /// The papers' policies that are ready; nullptr: none.
  const PolicyBook* policies() const noexcept { return policies_.get(); }
  const std::shared_ptr<const vendor::OneDnn>& vendor() const noexcept { return vendor_; }
  const std::string& why_no_vendor() const noexcept { return why_no_vendor_; }
  bool deterministic() const noexcept { return deterministic_; }
  /// Whether any choice may split K.
  bool splits() const noexcept { return deterministic_ || machine_.threads > 1; }
  const rkernel::CandidateSet& candidates() const noexcept { return candidates_; }
  /// Addresses of tables of main loops by rows, for tiles of so many columns and weights in this dtype; 0: none.
  std::int64_t table(int columns, DType weights = DType::f32) const;
  std::int64_t dot_table(int columns) const { return address(dot_tables_, columns); }
  /// The choice for a shape, remembered.
  rkernel::Choice choose(const rkernel::ContractionShape& shape, int threads) const;

 private:
  using Tables = std::unordered_map<int, std::vector<MainLoop>>;
  static std::int64_t address(const Tables& tables, int columns);

  const Isa& isa_;
  rkernel::Machine machine_;
  bool deterministic_;
  rkernel::CandidateSet candidates_;
  std::map<DType, Tables> tables_;
  Tables dot_tables_;
  mutable rkernel::ChoiceMemory memory_;
  rkernel::Policy policy_ = rkernel::Policy::Dyn;
  std::unique_ptr<const PolicyBook> policies_;
  std::shared_ptr<const vendor::OneDnn> vendor_;
  std::string why_no_vendor_ = "this policy uses no vendor's library";
};

}  // namespace dyn::cpu
