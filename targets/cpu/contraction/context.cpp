#include "targets/cpu/contraction/context.hpp"

#include <algorithm>

#include "targets/cpu/tile/dot_loop.hpp"

namespace dyn::cpu {
namespace {

// The memory holds more than a thousand choices. Layers of one model share choices, and shapes seen
// before have plans.
constexpr std::size_t memory_bytes = 1 << 19;

std::unordered_map<int, std::vector<MainLoop>> by_columns(const MainLoopTable& loops) {
  std::unordered_map<int, std::vector<MainLoop>> tables;
  for (std::size_t i = 0; i < loops.tiles.size(); ++i) {
    std::vector<MainLoop>& table = tables[loops.tiles[i].columns];
    table.resize(std::max(table.size(), static_cast<std::size_t>(loops.tiles[i].rows) + 1),
                 nullptr);
    table[static_cast<std::size_t>(loops.tiles[i].rows)] = loops.functions[i];
  }
  return tables;
}

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

ContractionContext::ContractionContext(const codegen::Isa& isa, choice::Machine machine,
                                       const ContractionLoops& loops, ContractionSettings settings)
    : isa_(isa),
      machine_(std::move(machine)),
      settings_(std::move(settings)),
      candidates_(choice::make_candidates(machine_)),
      dot_tables_(by_columns(loops.dot)),
      memory_(memory_bytes) {
  tables_.emplace(rkernel::Factors(), by_columns(loops.f32));
  for (const auto& [factors, narrow] : loops.narrow) tables_.emplace(factors, by_columns(narrow));
  machine_.dot_rows.assign(static_cast<std::size_t>(most_dot_columns(isa)) + 1, 0);
  for (const Tile& tile : dot_tiles(isa))
    machine_.dot_rows[static_cast<std::size_t>(tile.columns)] = tile.rows;
  if (rkernel::uses_micro_kernels(policy()))
    policies_ = std::make_unique<const PaperPolicies>(machine_, settings_.figures);
  if (settings_.tuning) tuned_ = choice::TunedChoices(machine_, *settings_.tuning);
}

std::int64_t ContractionContext::address(const Tables& tables, int columns) {
  const auto found = tables.find(columns);
  return found == tables.end()
             ? 0
             : static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(found->second.data()));
}

std::int64_t ContractionContext::table(int columns, const rkernel::Factors& factors) const {
  return address(tables_.at(factors), columns);
}

choice::Choice ContractionContext::choose(const choice::ContractionShape& shape,
                                          int threads) const {
  const choice::ChoiceKey key(shape, threads);
  if (auto known = memory_.find(key)) return *std::move(known);
  choice::Choice choice = choose_anew(shape, threads);
  memory_.insert(key, choice);
  return choice;
}

choice::Choice ContractionContext::choose_anew(const choice::ContractionShape& shape,
                                               int threads) const {
  if (!tuned_.empty()) {
    if (const choice::Choice* tuned = tuned_.find(choice::ChoiceKey(shape, threads))) return *tuned;
  }
  return choice::select(machine_, candidates_, shape, threads);
}

}  // namespace dyn::cpu
