#include "src/runtime/profile/step_recorder.hpp"

#include <algorithm>
#include <tuple>

namespace dyn::runtime {

void StepRecorder::clear() {
  steps_.clear();
  for (Track& track : tracks_) track.slices.clear();
}

void StepRecorder::note(Track& track, const Profile::Slice& slice) {
  if (track.slices.size() < track.room) {
    track.slices.push_back(slice);  // the caller has made room: a helper must not run out of memory
    return;
  }
  Profile::Slice& last = track.slices.back();
  last.count += slice.count;
  last.end_ns = slice.end_ns;
}

void StepRecorder::run_noted(const rkernel::KernelArgs* args, std::int64_t first,
                             std::int64_t count, void* scratch) {
  const auto& noted = *static_cast<const NotedStage*>(args);
  const auto thread =
      static_cast<std::size_t>(static_cast<const std::byte*>(scratch) - noted.first_mark);
  const Clock::time_point start = Clock::now();
  noted.stage.function(noted.stage.args, first, count,
                       noted.stage.scratch + thread * noted.stage.scratch_stride);
  note(noted.tracks[thread], {noted.step, static_cast<int>(thread), noted.number, first, count,
                              nanoseconds(start), nanoseconds(Clock::now())});
}

Stage StepRecorder::noted(const Stage& stage, int number, int threads) {
  const auto count = static_cast<std::size_t>(std::max(threads, 1));
  if (tracks_.size() < count) {
    tracks_.resize(count);
    marks_.resize(count);
  }
  const std::int64_t chunks = stage.tickets / std::max<std::int64_t>(stage.grain, 1) + 1;
  for (Track& track : tracks_) {
    track.room = track.slices.size() + static_cast<std::size_t>(std::min(chunks, most_slices));
    if (track.slices.capacity() < track.room)
      track.slices.reserve(std::max(track.room, 2 * track.slices.capacity()));
  }
  noted_.status = stage.args->status;  // pieces look at it
  noted_.stage = stage;
  noted_.step = steps_.size();
  noted_.number = number;
  noted_.first_mark = marks_.data();
  noted_.tracks = tracks_.data();
  Stage noted = stage;
  noted.function = run_noted;
  noted.args = &noted_;
  noted.scratch = marks_.data();
  noted.scratch_stride = 1;
  return noted;
}

void StepRecorder::end_step(Profile::Kind kind, std::size_t group, Clock::time_point start,
                            Clock::time_point end) {
  steps_.push_back({kind, group, nanoseconds(start), nanoseconds(end)});
}

std::vector<Profile::Slice> StepRecorder::slices() const {
  std::vector<Profile::Slice> all;
  for (const Track& track : tracks_)
    all.insert(all.end(), track.slices.begin(), track.slices.end());
  const auto place = [](const Profile::Slice& slice) {
    return std::tuple(slice.event, slice.thread, slice.start_ns);
  };
  std::ranges::stable_sort(all, {}, place);
  return all;
}

}  // namespace dyn::runtime
