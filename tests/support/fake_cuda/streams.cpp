// The fake driver's streams, events, copies and launches.

#include <cstring>
#include <utility>

#include "tests/support/fake_cuda/state.hpp"

namespace dyn::test::fake {
namespace {

bool alive(StreamHandle stream) { return state().streams.contains(stream); }

// Between pageable memory and the device a copy is done when the call returns, after all earlier
// work of the stream.
Result copy(const Call& call, StreamHandle stream, const void* host, DevicePointer device,
            std::size_t bytes, std::function<void()> work) {
  if (!alive(stream)) return call.misuse(Result::InvalidHandle);
  if (!inside(state().memory, device, bytes)) return call.misuse(Result::InvalidValue);
  stream->queue.push_back(std::move(work));
  if (!page_locked(host)) {
    ++state().control.counts.pageable;
    run_until(*stream, stream->end());
  }
  return stream->context->sticky;
}

}  // namespace

Result cuStreamCreate(StreamHandle* stream, unsigned int flags) {
  DYN_FAKE_CALL(Context);
  if (flags != stream_non_blocking) return call.misuse(Result::InvalidValue);
  *stream = new StreamTag{context_stack().back(), {}, 0};
  state().streams.insert(*stream);
  ++state().control.counts.streams.made;
  return Result::Success;
}

Result cuStreamSynchronize(StreamHandle stream) {
  DYN_FAKE_CALL(Context);
  if (!alive(stream)) return call.misuse(Result::InvalidHandle);
  run_until(*stream, stream->end());
  return stream->context->sticky;
}

// A lost context takes its objects with it, whatever a call on it returns.
Result cuStreamDestroy(StreamHandle stream) {
  const Call call(__func__, Call::Needs::Context);
  if (!alive(stream)) return call.misuse(Result::InvalidHandle);
  run_until(*stream, stream->end());
  state().streams.erase(stream);
  delete stream;
  ++state().control.counts.streams.ended;
  return call.result();
}

Result cuEventCreate(EventHandle* event, unsigned int) {
  DYN_FAKE_CALL(Context);
  *event = new EventTag;
  state().events.insert(*event);
  ++state().control.counts.events.made;
  return Result::Success;
}

Result cuEventDestroy(EventHandle event) {
  const Call call(__func__, Call::Needs::Context);
  if (state().events.erase(event) == 0) return call.misuse(Result::InvalidHandle);
  delete event;
  ++state().control.counts.events.ended;
  return call.result();
}

Result cuEventRecord(EventHandle event, StreamHandle stream) {
  DYN_FAKE_CALL(Context);
  if (!alive(stream) || !state().events.contains(event)) return call.misuse(Result::InvalidHandle);
  *event = {stream, stream->end()};
  return Result::Success;
}

Result cuEventSynchronize(EventHandle event) {
  DYN_FAKE_CALL(Context);
  if (!state().events.contains(event)) return call.misuse(Result::InvalidHandle);
  if (alive(event->stream)) run_until(*event->stream, event->place);
  return context_stack().back()->sticky;
}

Result cuEventElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
  DYN_FAKE_CALL(Context);
  if (!state().events.contains(start) || !state().events.contains(end))
    return call.misuse(Result::InvalidHandle);
  *milliseconds = 1;
  return Result::Success;
}

Result cuMemcpyHtoDAsync(DevicePointer to, const void* from, std::size_t bytes,
                         StreamHandle stream) {
  DYN_FAKE_CALL(Context);
  ++state().control.counts.uploads;
  return copy(call, stream, from, to, bytes,
              [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}

Result cuMemcpyDtoHAsync(void* to, DevicePointer from, std::size_t bytes, StreamHandle stream) {
  DYN_FAKE_CALL(Context);
  ++state().control.counts.downloads;
  return copy(call, stream, to, from, bytes,
              [=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
}

Result cuMemsetD8Async(DevicePointer at, unsigned char value, std::size_t bytes,
                       StreamHandle stream) {
  DYN_FAKE_CALL(Context);
  if (!alive(stream)) return call.misuse(Result::InvalidHandle);
  if (!inside(state().memory, at, bytes)) return call.misuse(Result::InvalidValue);
  ++state().control.counts.clears;
  stream->queue.push_back([=] { std::memset(reinterpret_cast<void*>(at), value, bytes); });
  return Result::Success;
}

Result cuStreamGetCtx(StreamHandle stream, ContextHandle* context) {
  DYN_FAKE_CALL(Context);
  if (!alive(stream)) return Result::InvalidHandle;
  *context = stream->context;
  return Result::Success;
}

Result cuStreamIsCapturing(StreamHandle stream, CaptureStatus* status) {
  DYN_FAKE_CALL(Context);
  if (!alive(stream)) return call.misuse(Result::InvalidHandle);
  *status = stream == state().control.capturing ? CaptureStatus::Active : CaptureStatus::None;
  return Result::Success;
}

}  // namespace dyn::test::fake
