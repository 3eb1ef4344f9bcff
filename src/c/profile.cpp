// What runs did.

#include <cstddef>
#include <string>
#include <vector>

#include "dyn/profile.hpp"
#include "src/c/objects.hpp"

using dyn::Profile;
using dyn::c::element_at;
using dyn::c::fills;
using dyn::c::guarded;
using dyn::c::makes;
using dyn::c::ProfileHandle;
using dyn::c::Used;

namespace {

// Texts stay as long as what they are of.

dyn_profile_info c_info(const Profile& profile) {
  dyn_profile_info all{};
  all.label = profile.label.c_str();
  all.start_ns = profile.start_ns;
  all.end_ns = profile.end_ns;
  all.threads = profile.threads;
  all.arena_bytes = profile.arena_bytes;
  all.device_arena_bytes = profile.device_arena_bytes;
  all.scratch_bytes = profile.scratch_bytes;
  all.group_count = profile.groups.size();
  all.event_count = profile.events.size();
  all.slice_count = profile.slices.size();
  all.buffer_count = profile.buffers.size();
  return all;
}

dyn_profile_group c_group(const Profile::Group& group) {
  dyn_profile_group all{};
  all.name = group.name.c_str();
  all.operators = group.operators.c_str();
  all.kernel = group.kernel.c_str();
  all.program = group.program.c_str();
  all.device = group.device.c_str();
  all.flops = group.flops;
  all.bytes = group.bytes;
  all.predicted_seconds = group.predicted_seconds;
  all.threads = group.threads;
  all.tickets = group.tickets;
  all.merge_tickets = group.merge_tickets;
  return all;
}

dyn_profile_event c_event(const Profile::Event& event) {
  return {0, event.group, event.start_ns, event.end_ns, static_cast<dyn_event_kind>(event.kind)};
}

dyn_profile_slice c_slice(const Profile::Slice& slice) {
  return {0,           slice.event, slice.thread,   slice.stage,
          slice.first, slice.count, slice.start_ns, slice.end_ns};
}

dyn_profile_buffer c_buffer(const Profile::Buffer& buffer) {
  dyn_profile_buffer all{};
  all.tensor = buffer.tensor.c_str();
  all.offset = buffer.offset;
  all.bytes = buffer.bytes;
  all.first_event = buffer.first_event;
  all.last_event = buffer.last_event;
  all.on_device = buffer.on_device;
  return all;
}

/// A part of the profile, by its number, in the form that C has for it.
template <class Part, class C>
dyn_status* give_part(const dyn_profile* profile, std::vector<Part> Profile::* parts, size_t index,
                      C* place, const char* name, C (*c_part)(const Part&)) noexcept {
  return fills(place, name, [&] {
    return c_part(element_at((*Used<ProfileHandle>(profile)).*parts, index, name));
  });
}

}  // namespace

extern "C" {

dyn_status* dyn_profile_create(const char* label, dyn_profile** profile) noexcept {
  return makes<ProfileHandle>(profile, "profile", [&] {
    Profile empty;
    if (label != nullptr) empty.label = label;
    return empty;
  });
}

dyn_status* dyn_call_run_profiled(dyn_call* call, dyn_profile* profile,
                                  const dyn_run_options* options) noexcept {
  return guarded([&] {
    const dyn::RunOptions ends = dyn::c::run_options_of(options);
    const Used<ProfileHandle> used(profile);
    Used<dyn::c::CallHandle>(call)->run(*used, ends);
  });
}

dyn_status* dyn_profile_get(const dyn_profile* profile, dyn_profile_info* info) noexcept {
  return fills(info, "info", [&] { return c_info(*Used<ProfileHandle>(profile)); });
}

dyn_status* dyn_profile_group_get(const dyn_profile* profile, size_t index,
                                  dyn_profile_group* group) noexcept {
  return give_part(profile, &Profile::groups, index, group, "group", c_group);
}

dyn_status* dyn_profile_event_get(const dyn_profile* profile, size_t index,
                                  dyn_profile_event* event) noexcept {
  return give_part(profile, &Profile::events, index, event, "event", c_event);
}

dyn_status* dyn_profile_slice_get(const dyn_profile* profile, size_t index,
                                  dyn_profile_slice* slice) noexcept {
  return give_part(profile, &Profile::slices, index, slice, "slice", c_slice);
}

dyn_status* dyn_profile_buffer_get(const dyn_profile* profile, size_t index,
                                   dyn_profile_buffer* buffer) noexcept {
  return give_part(profile, &Profile::buffers, index, buffer, "buffer", c_buffer);
}

dyn_status* dyn_profile_trace(size_t count, const dyn_profile* const* profiles,
                              dyn_texts** trace) noexcept {
  return makes<dyn::c::TextsHandle>(trace, "trace", [&] {
    std::vector<Profile> runs;
    for (const dyn_profile* profile : dyn::c::required_array(profiles, count, "profiles"))
      runs.push_back(*Used<ProfileHandle>(profile));
    return std::vector<std::string>{dyn::chrome_trace(runs)};
  });
}

void dyn_profile_release(dyn_profile* profile) noexcept {
  dyn::c::release_handle(ProfileHandle::kind, profile);
}

}  // extern "C"
