#ifndef DYN_C_PROFILE_H
#define DYN_C_PROFILE_H
/* Profiles: what runs did, and when. Part of dyn/dyn.h. */

#include "dyn/c/base.h"
#include "dyn/c/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one run did: dyn::Profile (dyn/profile.hpp), in the parts that it has there. Times are
 * nanoseconds of one clock for all profiles. */
typedef struct dyn_profile_info {
  size_t struct_size;
  const char* label;
  int64_t start_ns, end_ns; /* of the whole run */
  int64_t threads;
  uint64_t arena_bytes, device_arena_bytes, scratch_bytes;
  size_t group_count, event_count, slice_count, buffer_count;
} dyn_profile_info;
typedef struct dyn_profile_group {
  size_t struct_size;
  const char *name, *operators, *kernel, *program, *device;
  double flops, bytes, predicted_seconds;
  int64_t threads, tickets, merge_tickets;
} dyn_profile_group;
typedef int32_t dyn_event_kind;
enum { DYN_EVENT_GROUP = 0, DYN_EVENT_COPY = 1, DYN_EVENT_WAIT = 2 };
typedef struct dyn_profile_event {
  size_t struct_size;
  size_t group; /* its number */
  int64_t start_ns, end_ns;
  dyn_event_kind kind;
} dyn_profile_event;
typedef struct dyn_profile_slice {
  size_t struct_size;
  size_t event; /* its number */
  int64_t thread, stage, first, count, start_ns, end_ns;
} dyn_profile_slice;
typedef struct dyn_profile_buffer {
  size_t struct_size;
  const char* tensor;
  uint64_t offset, bytes;
  size_t first_event, last_event; /* their numbers */
  bool on_device;
} dyn_profile_buffer;

/* Empty, until a run fills it in. `label` names the run in a trace; NULL: "". A profile has one
 * user at a time. */
DYN_C_API dyn_status* dyn_profile_create(const char* label, dyn_profile** profile) DYN_NOEXCEPT;
/* Runs as dyn_call_run_with, and writes down what the run did, also where it fails. */
DYN_C_API dyn_status* dyn_call_run_profiled(dyn_call* call, dyn_profile* profile,
                                            const dyn_run_options* options) DYN_NOEXCEPT;
/* What these give stays until the profile's next run. */
DYN_C_API dyn_status* dyn_profile_get(const dyn_profile* profile,
                                      dyn_profile_info* info) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_profile_group_get(const dyn_profile* profile, size_t index,
                                            dyn_profile_group* group) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_profile_event_get(const dyn_profile* profile, size_t index,
                                            dyn_profile_event* event) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_profile_slice_get(const dyn_profile* profile, size_t index,
                                            dyn_profile_slice* slice) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_profile_buffer_get(const dyn_profile* profile, size_t index,
                                             dyn_profile_buffer* buffer) DYN_NOEXCEPT;
/* Runs in the trace event format, for Perfetto: one text (dyn::chrome_trace). */
DYN_C_API dyn_status* dyn_profile_trace(size_t count, const dyn_profile* const* profiles,
                                        dyn_texts** trace) DYN_NOEXCEPT;
DYN_C_API void dyn_profile_release(dyn_profile* profile) DYN_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
