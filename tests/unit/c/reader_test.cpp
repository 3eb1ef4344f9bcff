// Readers in C, and what they do wrong.

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "tests/unit/c/handles.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn::testing;

namespace {

const char* const text = R"(dyn 1
dim N in 0..8
weights "w.safetensors"
graph sum(x: f32[N, 2]) -> (y: f32[N, 2]) {
  y = x + w: f32[2]
  return y
}
)";

/// A host with two files, and with what goes wrong next.
struct Host {
  std::map<std::string, std::string> files;
  std::function<dyn_status*()> failure;
  size_t missing = 0;  ///< bytes that a read gives too few
  bool lends = false;
  int released = 0, asked = 0;
};

Host& host_of(void* context) { return *static_cast<Host*>(context); }

dyn_status* size_of_file(void* context, const char* name, uint64_t* bytes) {
  const auto found = host_of(context).files.find(name);
  if (found == host_of(context).files.end())
    return dyn_status_create(DYN_ERROR_MODEL, "the archive has no such file");
  *bytes = found->second.size();
  return nullptr;
}

dyn_status* read_file(void* context, const char* name, uint64_t offset, void* into, size_t bytes,
                      size_t* count) {
  Host& host = host_of(context);
  ++host.asked;
  if (host.failure && std::string(name) == "m/w.safetensors") return host.failure();
  std::memcpy(into, host.files.at(name).data() + offset, bytes);
  *count = bytes - std::min(bytes, host.missing);
  return nullptr;
}

dyn_status* lend_file(void* context, const char* name, const void** data, size_t* bytes) {
  Host& host = host_of(context);
  if (!host.lends) return nullptr;
  *data = host.files.at(name).data();
  *bytes = host.files.at(name).size();
  return nullptr;
}

void release_host(void* context) { ++host_of(context).released; }

dyn_reader reader_of(Host& host) {
  dyn_reader reader{};
  reader.struct_size = sizeof reader;
  reader.context = &host;
  reader.size = size_of_file;
  reader.read = read_file;
  reader.in_place = lend_file;
  reader.release = release_host;
  return reader;
}

Host new_host() {
  const float w[] = {10, 20};
  Host host;
  host.files = {{"m/sum.dyn", text},
                {"m/w.safetensors",
                 safetensors_file(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                                  std::string(reinterpret_cast<const char*>(w), sizeof w))}};
  return host;
}

void check_sum(const CGraph& graph) {
  const float x[] = {1, 2};
  const int64_t sizes[] = {1, 2};
  CTensor input, output;
  succeeds(dyn_tensor_view_const(DYN_F32, x, 2, sizes, Into(input)));
  const dyn_named_tensor named{"x", input.get()};
  succeeds(dyn_graph_run(graph.get(), 1, &named, 1, Into(output)));
  const void* data = nullptr;
  succeeds(dyn_tensor_data(output.get(), DYN_F32, &data));
  CHECK(static_cast<const float*>(data)[0] == 11);
  CHECK(static_cast<const float*>(data)[1] == 22);
}

}  // namespace

TEST_CASE("C: a model is read through a reader, which is released once") {
  for (const bool lends : {false, true}) {
    CAPTURE(lends);
    Host host = new_host();
    host.lends = lends;
    dyn_reader reader = reader_of(host);
    {
      CGraph graph;
      succeeds(dyn_graph_from_reader("m/sum.dyn", &reader, nullptr, Into(graph)));
      CHECK((host.asked == 0) == lends);
      reader = {};  // was copied
      check_sum(graph);
    }
    CHECK(host.released == 1);
  }
}

TEST_CASE("C: a reader of an older header has fewer functions") {
  Host host = new_host();
  dyn_reader reader = reader_of(host);
  reader.struct_size = offsetof(dyn_reader, in_place);
  reader.in_place = [](void*, const char*, const void**, size_t*) -> dyn_status* {
    return dyn_status_create(DYN_ERROR_USER, "beyond the structure");
  };
  {
    CGraph graph;
    succeeds(dyn_graph_from_reader("m/sum.dyn", &reader, nullptr, Into(graph)));
    check_sum(graph);
  }
  CHECK(host.released == 0);
}

TEST_CASE("C: what a reader does wrong is an error, and the reader is the caller's still") {
  Host host = new_host();
  const dyn_reader reader = reader_of(host);
  CGraph graph;
  const auto refused = [&](dyn_kind kind, const char* part) {
    fails(kind, dyn_graph_from_reader("m/sum.dyn", &reader, nullptr, Into(graph)), part);
    CHECK(graph == nullptr);
  };
  host.failure = [] { return dyn_status_create(DYN_ERROR_DEVICE, "the connection is gone"); };
  refused(DYN_ERROR_DEVICE, "the connection is gone");
  host.failure = [] { return dyn_status_create(77, nullptr); };
  refused(DYN_ERROR_USER, "m/w.safetensors");
  static int nonsense = 0;
  host.failure = [] { return reinterpret_cast<dyn_status*>(&nonsense); };
  refused(DYN_ERROR_USER, "gave what is no status");
  host.failure = nullptr;
  host.missing = 1;
  refused(DYN_ERROR_DEVICE, "m/sum.dyn");
  host.missing = 0;
  host.files.erase("m/w.safetensors");
  refused(DYN_ERROR_MODEL, "the archive has no such file");
  CHECK(host.released == 0);

  fails(DYN_ERROR_USER, dyn_graph_from_reader("m/sum.dyn", nullptr, nullptr, Into(graph)),
        "reader");
  fails(DYN_ERROR_USER, dyn_graph_from_reader(nullptr, &reader, nullptr, Into(graph)), "name");
  dyn_reader broken = reader;
  broken.read = nullptr;
  fails(DYN_ERROR_USER, dyn_graph_from_reader("m/sum.dyn", &broken, nullptr, Into(graph)),
        "reader->read");
  broken.struct_size = 1;
  fails(DYN_ERROR_USER, dyn_graph_from_reader("m/sum.dyn", &broken, nullptr, Into(graph)),
        "sizeof *reader");
}
