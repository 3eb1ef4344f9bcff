#include "src/base/load_progress.hpp"

#include <string>
#include <utility>

#include "dyn/error.hpp"

namespace dyn {
namespace {

thread_local const ProgressListener::Heard* listener = nullptr;

}  // namespace

ProgressListener::ProgressListener(const Heard& heard) noexcept
    : before_(std::exchange(listener, heard ? &heard : nullptr)) {}
ProgressListener::~ProgressListener() { listener = before_; }

void report_progress(const LoadProgress& progress) {
  if (listener == nullptr || (*listener)(progress)) return;
  throw Error(ErrorKind::cancelled, "Options::progress has ended the load, in stage '" +
                                        std::string(progress.stage) + "' after " +
                                        std::to_string(progress.done) + " of " +
                                        std::to_string(progress.total));
}

}  // namespace dyn
