#pragma once
// Times a slice as dynrun times its own.

#include <functional>

namespace dyn::peer {

struct SliceResult {
  double median_seconds = 0;  ///< seconds of one iteration
  long iterations = 0;
};

/// One iteration that is not counted, then batches long enough for the clock until the slice is
/// over, at least one. An uncounted iteration that filled the slice counts after all.
SliceResult time_slice(double slice_seconds, const std::function<void()>& iterate);

}  // namespace dyn::peer
