#pragma once
// Handles of the C ABI that tests keep: released at the end of a scope.

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "dyn/dyn.h"

namespace dyn::testing {

template <auto release>
struct Releases {
  template <class Handle>
  void operator()(Handle* handle) const {
    release(handle);
  }
};
template <class Handle, auto release>
using Owned = std::unique_ptr<Handle, Releases<release>>;

using CStatus = Owned<dyn_status, dyn_status_release>;
using COptions = Owned<dyn_options, dyn_options_release>;
using CTensor = Owned<dyn_tensor, dyn_tensor_release>;
using CGraph = Owned<dyn_graph, dyn_graph_release>;
using CPort = Owned<dyn_port, dyn_port_release>;
using CShapes = Owned<dyn_shapes, dyn_shapes_release>;
using CCall = Owned<dyn_call, dyn_call_release>;
using CSession = Owned<dyn_session, dyn_session_release>;
using CDevice = Owned<dyn_device, dyn_device_release>;
using CStream = Owned<dyn_stream, dyn_stream_release>;
using CCoder = Owned<dyn_coder, dyn_coder_release>;
using CDims = Owned<dyn_dims, dyn_dims_release>;
using CMetadata = Owned<dyn_metadata, dyn_metadata_release>;
using CKernels = Owned<dyn_kernels, dyn_kernels_release>;
using CCancellation = Owned<dyn_cancellation, dyn_cancellation_release>;
using CAsyncRun = Owned<dyn_async_run, dyn_async_run_release>;
using CProfile = Owned<dyn_profile, dyn_profile_release>;
using CBuilder = Owned<dyn_builder, dyn_builder_release>;
using CTexts = Owned<dyn_texts, dyn_texts_release>;

/// Where a function puts a handle that `owner` then owns.
template <class Owner>
class Into {
 public:
  explicit Into(Owner& owner) : owner_(owner) {}
  ~Into() { owner_.reset(handle_); }
  Into(const Into&) = delete;
  Into& operator=(const Into&) = delete;
  operator typename Owner::pointer *() { return &handle_; }

 private:
  Owner& owner_;
  typename Owner::pointer handle_ = nullptr;
};

/// Checks for success; the text of a failure shows.
inline void succeeds(dyn_status* status) {
  const CStatus owned(status);
  CHECK(std::string(dyn_status_text(status)) == "");
  CHECK(status == nullptr);
}
/// Checks for a failure of this kind, and gives its text.
inline std::string fails(dyn_kind kind, dyn_status* status) {
  const CStatus owned(status);
  const std::string text = dyn_status_text(status);
  CAPTURE(text);
  CHECK(status != nullptr);
  CHECK(std::string(dyn_kind_name(dyn_status_kind(status))) == dyn_kind_name(kind));
  return text;
}
/// The same, with a part of the text.
inline void fails(dyn_kind kind, dyn_status* status, const std::string& part) {
  const std::string text = fails(kind, status);
  CAPTURE(text);
  CAPTURE(part);
  CHECK(text.find(part) != std::string::npos);
}

/// Nothing is read from or written to a cache directory.
inline COptions c_options(int threads = 2, const char* device = "cpu") {
  COptions options;
  succeeds(dyn_options_create(Into(options)));
  succeeds(dyn_options_set_text(options.get(), "cache_dir", "none"));
  succeeds(dyn_options_set_text(options.get(), "device", device));
  succeeds(dyn_options_set_integer(options.get(), "threads", threads));
  return options;
}
inline CGraph c_graph(const std::string& text, const dyn_options* options) {
  CGraph graph;
  succeeds(dyn_graph_from_text(text.data(), text.size(), options, nullptr, Into(graph)));
  return graph;
}

}  // namespace dyn::testing
