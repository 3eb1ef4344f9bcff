// Handles that are none, no longer one, or somebody else's at the moment.

#include <atomic>
#include <thread>
#include <vector>

#include "dyn/dyn.hpp"
#include "src/c/handles.hpp"
#include "tests/unit/c/handles.hpp"

using namespace dyn::testing;

namespace {

const char* const twice = R"(dyn 1
dim N in 0..100000000
graph g(x: f32[N]) -> (y: f32[N]) {
  return x * 2
}
)";

CTensor vector_of(std::int64_t size) {
  CTensor tensor;
  succeeds(dyn_tensor_create(DYN_F32, 1, &size, Into(tensor)));
  return tensor;
}

}  // namespace

TEST_CASE("C: what is no handle is an error of the function that gets it") {
  const std::size_t before = dyn::c::live_handles();
  {
    const CTensor tensor = vector_of(3);
    size_t rank = 7;
    std::vector<void*> others{reinterpret_cast<void*>(1), reinterpret_cast<void*>(-1), &rank,
                              reinterpret_cast<char*>(&rank) + 3, tensor.get()};
    for (std::uint64_t bit = 1; bit != 0; bit <<= 1)
      others.push_back(
          reinterpret_cast<void*>(reinterpret_cast<std::uint64_t>(tensor.get()) ^ bit));
    for (void* other : others) {
      CAPTURE(other);
      fails(DYN_ERROR_USER, dyn_call_run(static_cast<dyn_call*>(other)), "the call 0x");
      if (other != tensor.get()) {
        fails(DYN_ERROR_USER, dyn_tensor_shape(static_cast<dyn_tensor*>(other), &rank, nullptr),
              "was released already, or is none");
        CHECK(rank == 0);
        dyn_tensor_release(static_cast<dyn_tensor*>(other));
      }
      dyn_graph_release(static_cast<dyn_graph*>(other));
      CHECK(dyn_status_kind(static_cast<dyn_status*>(other)) == -1);
      CHECK(std::string(dyn_status_text(static_cast<dyn_status*>(other))) == "");
      dyn_status_release(static_cast<dyn_status*>(other));
    }
    fails(DYN_ERROR_USER, dyn_call_run(nullptr), "the call is NULL");
    succeeds(dyn_tensor_shape(tensor.get(), &rank, nullptr));
    CHECK(rank == 1);
    fails(DYN_ERROR_USER, dyn_tensor_shape(tensor.get(), nullptr, nullptr), "'rank' is NULL");
    fails(DYN_ERROR_USER,
          dyn_tensor_bytes(tensor.get(),
                           reinterpret_cast<size_t*>(reinterpret_cast<char*>(&rank) + 1)),
          "which is no multiple of 8");
  }
  CHECK(dyn::c::live_handles() == before);
}

TEST_CASE("C: a handle that was released stays refused, whatever took its place") {
  std::vector<dyn_tensor*> released;
  for (int round = 0; round < 3; ++round) {
    std::vector<CTensor> tensors;
    for (int i = 0; i < 40; ++i) tensors.push_back(vector_of(i));
    for (dyn_tensor* stale : released) {
      size_t bytes = 0;
      fails(DYN_ERROR_USER, dyn_tensor_bytes(stale, &bytes), "the tensor 0x");
      dyn_tensor_release(stale);
    }
    for (const CTensor& tensor : tensors) released.push_back(tensor.get());
    size_t bytes = 0;
    succeeds(dyn_tensor_bytes(tensors[39].get(), &bytes));
    CHECK(bytes == 39 * 4);
  }
}

TEST_CASE("C: what others need stays when a handle is released") {
  const std::size_t before = dyn::c::live_handles();
  {
    CGraph graph = c_graph(twice, c_options().get());
    CCall call;
    succeeds(dyn_call_create(graph.get(), Into(call)));
    graph.reset();
    float values[] = {1, 2.5f};
    const std::int64_t two = 2;
    CTensor tensor;
    succeeds(dyn_tensor_view_const(DYN_F32, values, 1, &two, Into(tensor)));
    succeeds(dyn_call_set_input(call.get(), 0, tensor.get()));
    tensor.reset();
    succeeds(dyn_call_run(call.get()));
    CTensor output, reshaped;
    succeeds(dyn_call_output(call.get(), 0, Into(output)));
    call.reset();
    const std::int64_t column[] = {2, 1};
    succeeds(dyn_tensor_reshape(output.get(), 2, column, Into(reshaped)));
    output.reset();
    const void* data = nullptr;
    succeeds(dyn_tensor_data(reshaped.get(), DYN_F32, &data));
    CHECK(static_cast<const float*>(data)[1] == 5);
  }
  CHECK(dyn::c::live_handles() == before);
}

TEST_CASE("C: a call has one user at a time") {
  const CGraph graph = c_graph(twice, c_options(1).get());
  CCall call;
  succeeds(dyn_call_create(graph.get(), Into(call)));
  const CTensor tensor = vector_of(1 << 22);
  succeeds(dyn_call_set_input(call.get(), 0, tensor.get()));
  std::atomic<bool> over{false};
  std::atomic<int> refused{0}, failed{0};
  std::thread runner([&] {
    while (!over) {
      dyn_status* const status = dyn_call_run(call.get());
      if (status != nullptr) ++failed;
      dyn_status_release(status);
    }
  });
  // Either of them may come too late; nothing else happens to them.
  while (refused == 0) {
    dyn_status* const status = dyn_call_set_input(call.get(), 0, tensor.get());
    if (status == nullptr) continue;
    CHECK(std::string(dyn_status_text(status)).find("has one user at a time") != std::string::npos);
    dyn_status_release(status);
    ++refused;
  }
  over = true;
  runner.join();
  CHECK(refused == 1);
  succeeds(dyn_call_run(call.get()));
}

TEST_CASE("C: handles that threads release while others use them") {
  for (int round = 0; round < 200; ++round) {
    dyn_tensor* tensor = vector_of(5).release();
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        ++ready;
        while (ready < 3) {}
        if (i == 0) return dyn_tensor_release(tensor);
        const std::int64_t shape[] = {1, 5};
        dyn_tensor* copy = nullptr;
        dyn_status* const status = dyn_tensor_reshape(tensor, 2, shape, &copy);
        CHECK((status == nullptr) != (copy == nullptr));
        dyn_status_release(status);
        dyn_tensor_release(copy);
      });
    }
    for (std::thread& thread : threads) thread.join();
    size_t bytes = 0;
    fails(DYN_ERROR_USER, dyn_tensor_bytes(tensor, &bytes), "was released already");
  }
}

TEST_CASE("C: memory that a host gives is given back once, when nothing uses it") {
  struct Memory {
    float values[4] = {1, 2, 3, 4};
    int released = 0;
  } memory;
  const auto release = [](void* context, void* data) {
    auto& owner = *static_cast<Memory*>(context);
    CHECK(data == owner.values);
    ++owner.released;
  };
  const std::int64_t four = 4, negative = -4;
  CTensor tensor, other;
  fails(DYN_ERROR_USER,
        dyn_tensor_adopt(DYN_F32, memory.values, 1, &negative, release, &memory, Into(tensor)),
        "negative");
  fails(DYN_ERROR_USER,
        dyn_tensor_adopt(99, memory.values, 1, &four, release, &memory, Into(tensor)),
        "the dtype 99 is none");
  fails(DYN_ERROR_USER,
        dyn_tensor_adopt(DYN_F32, memory.values, 1, &four, nullptr, &memory, Into(tensor)),
        "'release' is NULL");
  CHECK(memory.released == 0);
  succeeds(dyn_tensor_adopt(DYN_F32, memory.values, 1, &four, release, &memory, Into(tensor)));
  CGraph graph = c_graph(twice, c_options().get());
  CCall call;
  succeeds(dyn_call_create(graph.get(), Into(call)));
  succeeds(dyn_call_set_input(call.get(), 0, tensor.get()));
  tensor.reset();
  CHECK(memory.released == 0);
  succeeds(dyn_call_run(call.get()));
  succeeds(dyn_tensor_create(DYN_F32, 1, &four, Into(other)));
  succeeds(dyn_call_set_input(call.get(), 0, other.get()));
  CHECK(memory.released == 1);
}

TEST_CASE("C: null and odd arguments are errors") {
  dyn_graph* graph = reinterpret_cast<dyn_graph*>(8);
  fails(DYN_ERROR_USER, dyn_graph_load(nullptr, nullptr, &graph), "the argument 'path' is NULL");
  CHECK(graph == nullptr);
  fails(DYN_ERROR_USER, dyn_graph_load("x.dyn", nullptr, nullptr), "the argument 'graph' is NULL");
  fails(DYN_ERROR_USER, dyn_graph_from_text(nullptr, 3, nullptr, nullptr, &graph),
        "the argument 'text' is NULL");
  fails(DYN_ERROR_USER, dyn_graph_from_memory("dyn 1\n", 6, 1, nullptr, nullptr, &graph),
        "the argument 'files' is NULL");
  const dyn_named_bytes no_name{nullptr, "", 0}, no_data{"w", nullptr, 8};
  fails(DYN_ERROR_USER, dyn_graph_from_memory("dyn 1\n", 6, 1, &no_name, nullptr, &graph),
        "the argument 'files[].name' is NULL");
  fails(DYN_ERROR_USER, dyn_graph_from_memory("dyn 1\n", 6, 1, &no_data, nullptr, &graph),
        "the argument 'files[].data' is NULL");
  dyn_tensor* tensor = nullptr;
  fails(DYN_ERROR_USER, dyn_tensor_create(DYN_F32, 1, nullptr, &tensor), "'sizes' is NULL");
  fails(DYN_ERROR_USER, dyn_tensor_create(DYN_F32, std::size_t{1} << 60, nullptr, &tensor),
        "is more than the 64 that a tensor may have");
  const CGraph c = c_graph(twice, c_options().get());
  const CTensor x = vector_of(2);
  const dyn_named_tensor nameless{nullptr, x.get()}, empty{"x", nullptr}, input{"x", x.get()};
  dyn_tensor* outputs[3] = {};
  fails(DYN_ERROR_USER, dyn_graph_run(c.get(), 1, nullptr, 1, outputs), "'inputs' is NULL");
  fails(DYN_ERROR_USER, dyn_graph_run(c.get(), 1, &nameless, 1, outputs),
        "'inputs[].name' is NULL");
  fails(DYN_ERROR_USER, dyn_graph_run(c.get(), 1, &empty, 1, outputs), "the tensor is NULL");
  fails(DYN_ERROR_USER, dyn_graph_run(c.get(), 1, &empty, 1, outputs), "in input 'x'");
  fails(DYN_ERROR_USER, dyn_graph_run(c.get(), 1, &input, 1, nullptr), "'outputs' is NULL");
  fails(DYN_ERROR_USER, dyn_graph_run(c.get(), 1, &input, 3, outputs),
        "there is room for 3 output(s); the model has 1");
  dyn_port* port = nullptr;
  fails(DYN_ERROR_USER, dyn_graph_input(c.get(), 1, &port), "there is no input number 1");
}

TEST_CASE("C: the table has every function, for callers no newer than it") {
  const dyn_api* const api = dyn_get_api(DYN_API_VERSION);
  REQUIRE(api != nullptr);
  CHECK(api->api_version == DYN_API_VERSION);
#define CHECK_ENTRY(name) CHECK((api->name == &dyn_##name));
  DYN_FUNCTIONS_1_0(CHECK_ENTRY)
#undef CHECK_ENTRY
  CHECK(dyn_get_api(DYN_API_VERSION + 1) == nullptr);
  CHECK(dyn_get_api((DYN_API_MAJOR + 1) << 16) == nullptr);
  CHECK(dyn_get_api(0) == nullptr);
}
