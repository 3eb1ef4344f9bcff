// The exhaustive side of cover_select.hpp.

#include <algorithm>
#include <limits>
#include <map>

#include "src/choice/cost/program_cost.hpp"
#include "src/choice/cpu/cover_select.hpp"

namespace dyn::choice {
namespace {

constexpr int most_tickets_per_thread = 4;

/// A way to run one region.
struct Piece {
  TicketCost cost;
  rkernel::Strategy strategy;
};

void add_cut(std::vector<std::int64_t>& cuts, std::int64_t cut, std::int64_t extent) {
  if (cut > 0 && cut < extent && std::ranges::find(cuts, cut) == cuts.end()) cuts.push_back(cut);
}

class CoverSearch {
 public:
  CoverSearch(const Machine& machine, const CandidateSet& candidates, const ContractionShape& shape,
              int threads)
      : machine_(machine), candidates_(candidates), shape_(shape), threads_(threads) {}

  // The best strategies for these regions: all combinations of their pieces.
  std::optional<Choice> best_of(std::vector<rkernel::Region> regions) const {
    std::vector<std::vector<Piece>> pieces;
    for (const rkernel::Region& region : regions) pieces.push_back(pieces_of(region));
    if (std::ranges::any_of(pieces, [](const auto& of_region) { return of_region.empty(); }))
      return std::nullopt;
    std::vector<std::size_t> at(regions.size(), 0);
    double least = std::numeric_limits<double>::infinity();
    do {
      Team team(threads_);
      for (std::size_t i = 0; i < regions.size(); ++i) team.take(pieces[i][at[i]].cost);
      if (team.last() >= least) continue;
      least = team.last();
      for (std::size_t i = 0; i < regions.size(); ++i)
        regions[i].strategy = pieces[i][at[i]].strategy;
    } while (advance(at, pieces));
    return Choice{{std::move(regions)},
                  threads_,
                  least + (threads_ > 1 ? machine_.seconds_per_wakeup : 0),
                  0};
  }

 private:
  // The best piece for each number of tickets.
  std::vector<Piece> pieces_of(const rkernel::Region& region) const {
    ContractionShape part = shape_;
    part.m = region.m;
    part.n = region.n;
    part.fixed_slices = 1;
    std::map<std::int64_t, Piece> best;
    for_each_strategy(
        machine_, candidates_, part, threads_, [&](const rkernel::Strategy& strategy) {
          const TicketCost cost = ticket_cost(
              machine_, shape_, {region.m0, region.m, region.n0, region.n, strategy}, threads_);
          if (cost.tickets > most_tickets_per_thread * threads_) return;
          const auto [place, is_new] = best.try_emplace(cost.tickets, Piece{cost, strategy});
          if (!is_new && cost.seconds < place->second.cost.seconds)
            place->second = {cost, strategy};
        });
    std::vector<Piece> pieces;
    for (const auto& [tickets, piece] : best) pieces.push_back(piece);
    return pieces;
  }

  static bool advance(std::vector<std::size_t>& at, const std::vector<std::vector<Piece>>& pieces) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (++at[i] < pieces[i].size()) return true;
      at[i] = 0;
    }
    return false;
  }

  const Machine& machine_;
  const CandidateSet& candidates_;
  const ContractionShape& shape_;
  int threads_;
};

/// Cuts where whole tiles or whole rounds of tiles end, and the middle.
struct CutPlaces {
  std::vector<std::int64_t> m, n;
};

CutPlaces cut_places(const Machine& machine, const CandidateSet& candidates,
                     const ContractionShape& shape, int threads) {
  CutPlaces places;
  for (const rkernel::Strategy& tile : candidates.tiles) {
    for (const std::int64_t round : {std::int64_t{1}, std::int64_t{threads}}) {
      const std::int64_t rows = round * tile.tile_rows, columns = round * tile.tile_columns;
      add_cut(places.m, shape.m / rows * rows, shape.m);
      add_cut(places.n, shape.n / columns * columns, shape.n);
    }
  }
  add_cut(places.m, shape.m / 2, shape.m);
  add_cut(places.n, shape.n / (2 * machine.panel) * machine.panel, shape.n);
  return places;
}

std::vector<rkernel::Cuts> cuts_of(rkernel::Pattern pattern, const CutPlaces& places) {
  const std::vector<std::int64_t> none{0};
  const bool cuts_m = pattern != rkernel::Pattern::III,
             cuts_n = pattern != rkernel::Pattern::II && pattern != rkernel::Pattern::IX,
             twice = pattern == rkernel::Pattern::IX;
  std::vector<rkernel::Cuts> all;
  for (const std::int64_t m : cuts_m ? places.m : none) {
    for (const std::int64_t n : cuts_n ? places.n : none) {
      for (const std::int64_t second : twice ? places.m : none) {
        if (!twice || second > m) all.push_back({m, n, second});
      }
    }
  }
  return all;
}

}  // namespace

void for_each_cover(const Machine& machine, const CandidateSet& candidates,
                    const ContractionShape& shape, int threads, int most,
                    const std::function<void(const Choice&)>& visit) {
  if (shape.lanes == rkernel::LaneAxis::K || shape.m == 0 || shape.n == 0) return;
  const CoverSearch search(machine, candidates, shape, threads);
  const CutPlaces places = cut_places(machine, candidates, shape, threads);
  for (const rkernel::Pattern pattern : rkernel::all_patterns) {
    if (pattern == rkernel::Pattern::I) continue;
    std::vector<Choice> choices;
    for (const rkernel::Cuts& cuts : cuts_of(pattern, places)) {
      if (auto choice = search.best_of(rkernel::cover(pattern, shape.m, shape.n, cuts)))
        choices.push_back(*std::move(choice));
    }
    std::ranges::stable_sort(choices, {}, &Choice::seconds);
    choices.resize(std::min(choices.size(), static_cast<std::size_t>(most)));
    for (const Choice& choice : choices) visit(choice);
  }
}

}  // namespace dyn::choice
