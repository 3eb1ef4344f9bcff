#include "src/runtime/load/bundles.hpp"

#include <algorithm>
#include <utility>

#include "src/rkernel/problem/parts.hpp"

namespace dyn::runtime {
namespace {

/// Registers are those of the part that needs most, and code grows with each.
constexpr std::size_t most_parts = 8;
/// Groups further on are not looked at: each would be compared with all in between.
constexpr std::size_t furthest = 64;

/// The groups of one launch, ascending.
using Bundle = std::vector<std::size_t>;

class Finder {
 public:
  Finder(const std::vector<rkernel::Problem>& problems, const rkernel::Target& target)
      : problems_(problems), taken_(problems.size(), false) {
    for (const rkernel::Problem& problem : problems) small_.push_back(target.bundles(problem));
  }

  /// One for each launch, in the order of their first groups.
  std::vector<Bundle> find() {
    std::vector<Bundle> bundles;
    for (std::size_t first = 0; first < problems_.size(); ++first) {
      if (!taken_[first]) bundles.push_back(from(first));
    }
    return bundles;
  }

 private:
  Bundle from(std::size_t first) {
    Bundle bundle{first};
    taken_[first] = true;
    if (!small_[first]) return bundle;
    const std::size_t end = std::min(problems_.size(), first + furthest);
    for (std::size_t next = first + 1; next < end && bundle.size() < most_parts; ++next) {
      if (taken_[next] || !small_[next] || !can_go_to(first, next)) continue;
      bundle.push_back(next);
      taken_[next] = true;
    }
    return bundle;
  }

  bool can_go_to(std::size_t first, std::size_t group) const {
    for (std::size_t between = first; between < group; ++between) {
      if (rkernel::depend(problems_[between], problems_[group])) return false;
    }
    return true;
  }

  const std::vector<rkernel::Problem>& problems_;
  std::vector<bool> small_;  ///< what the target bundles
  std::vector<bool> taken_;
};

template <class Element>
void append(std::vector<Element>& to, const std::vector<Element>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

graph::Group joined(const std::vector<graph::Group>& groups, const Bundle& bundle) {
  graph::Group all = groups[bundle.front()];
  for (std::size_t i = 1; i < bundle.size(); ++i) {
    const graph::Group& next = groups[bundle[i]];
    all.name += "+" + next.name;
    append(all.nodes, next.nodes);
    append(all.outputs, next.outputs);
    append(all.output_coords, next.output_coords);
    append(all.decisions, next.decisions);
  }
  // A node that reads no memory may be a member of several.
  std::ranges::sort(all.nodes);
  all.nodes.erase(std::ranges::unique(all.nodes).begin(), all.nodes.end());
  return all;
}

}  // namespace

void bundle_groups(graph::Fusion& fusion, std::vector<rkernel::Problem>& problems,
                   const rkernel::Target& target) {
  std::vector<graph::Group> groups;
  std::vector<rkernel::Problem> bundled;
  for (const Bundle& bundle : Finder(problems, target).find()) {
    groups.push_back(joined(fusion.groups, bundle));
    std::vector<rkernel::Problem> parts;
    for (const std::size_t group : bundle) parts.push_back(std::move(problems[group]));
    bundled.push_back(parts.size() == 1 ? std::move(parts.front())
                                        : rkernel::together(std::move(parts)));
  }
  fusion.groups = std::move(groups);
  problems = std::move(bundled);
}

}  // namespace dyn::runtime
