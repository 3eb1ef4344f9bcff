#pragma once
// Programs of several regions for a contraction of known sizes.

#include <functional>
#include <optional>

#include "src/choice/cpu/select.hpp"
#include "src/rkernel/tree/regions.hpp"

namespace dyn::choice {

/// Where `one`, the best program of one region on several threads, leaves threads idle at its end:
/// the best program of patterns II, III, IV and VI that begins with what divides evenly among the
/// threads and cuts the rest along the other axis. None where the time that all threads share
/// evenly is less than Calibration::worth_a_cover below `one`, where K is split, or where no
/// program promises less than Calibration::worth_regions of it. (V and VII differ from IV and VI in
/// the order of their parts alone, VIII and IX never were better: docs/selection.md.)
std::optional<Choice> select_cover(const Machine& machine, const ContractionShape& shape,
                                   const Choice& one);

/// For comparing: of each pattern but I the programs that are predicted best, at most `most` of
/// each, over all cuts where whole tiles or whole rounds of tiles of all threads end, and the
/// middle. Milliseconds.
void for_each_cover(const Machine& machine, const CandidateSet& candidates,
                    const ContractionShape& shape, int threads, int most,
                    const std::function<void(const Choice&)>& visit);

}  // namespace dyn::choice
