// Sessions, devices and texts through the C ABI.

#include <cstring>
#include <vector>

#include "dyn/dyn.hpp"
#include "tests/unit/c/handles.hpp"

using namespace dyn::testing;

namespace {

const char* const memory = R"(dyn 1
dim S in 0..16
dim P in 0..16
dim C in 1..16 hint 8
state tokens: i64[C]
graph memory(ids: i64[S]) -> (seen: i64[_]) {
  kept = append(tokens, ids) at=P axis=0
  return slice(kept) axes=[0] starts=[0] ends=[P + S]
}
)";

const char* const product = R"(dyn 1
dim M in 1..512
weight w: f32[32, 16] = random 3
graph g(x: f32[M, 32]) -> (y: f32[M, 16]) {
  return relu(matmul(x, w))
}
)";

const char* const equal_texts = R"(dyn 1
dim N
graph g(a: i64[N] of ["cat", "eel"], b: i64[N] of ["cat", "eel"]) -> (same: bool[N], c: i64[N] of ["cat", "eel"]) {
  same = equal(a, b)
  return same, b
}
)";

std::vector<std::int64_t> run_in(dyn_session* session, std::vector<std::int64_t> ids) {
  const auto count = static_cast<std::int64_t>(ids.size());
  CTensor tensor;
  succeeds(dyn_tensor_view_const(DYN_I64, ids.data(), 1, &count, Into(tensor)));
  const dyn_named_tensor input{"ids", tensor.get()};
  dyn_tensor* output = nullptr;
  succeeds(dyn_session_run(session, 1, &input, 1, &output));
  const CTensor seen(output);
  const void* data = nullptr;
  size_t bytes = 0;
  succeeds(dyn_tensor_data(output, DYN_I64, &data));
  succeeds(dyn_tensor_bytes(output, &bytes));
  const auto* first = static_cast<const std::int64_t*>(data);
  return {first, first + bytes / 8};
}

}  // namespace

TEST_CASE("C: a session remembers, forgets and is full") {
  const CGraph graph = c_graph(memory, c_options().get());
  CSession session;
  const dyn_named_size room{"C", 4};
  succeeds(dyn_session_create(graph.get(), 1, &room, Into(session)));
  using Ids = std::vector<std::int64_t>;
  CHECK(run_in(session.get(), {7, 5}) == Ids{7, 5});
  CHECK(run_in(session.get(), {9}) == Ids{7, 5, 9});
  int64_t length = 0;
  size_t bytes = 0;
  succeeds(dyn_session_length(session.get(), &length));
  succeeds(dyn_session_bytes(session.get(), &bytes));
  CHECK(length == 3);
  CHECK(bytes > 0);
  succeeds(dyn_session_truncate(session.get(), 1));
  CHECK(run_in(session.get(), {4}) == Ids{7, 4});
  fails(DYN_ERROR_USER, dyn_session_truncate(session.get(), 9));
  succeeds(dyn_session_reset(session.get()));

  CCall call;
  succeeds(dyn_call_create_in_session(session.get(), Into(call)));
  const std::int64_t ids[] = {1, 2}, two = 2;
  CTensor tensor;
  succeeds(dyn_tensor_view_const(DYN_I64, ids, 1, &two, Into(tensor)));
  succeeds(dyn_call_set_input(call.get(), 0, tensor.get()));
  succeeds(dyn_call_run(call.get()));
  succeeds(dyn_call_run(call.get()));
  fails(DYN_ERROR_USER, dyn_call_run(call.get()), "C");
  succeeds(dyn_session_length(session.get(), &length));
  CHECK(length == 4);
  const dyn_named_size unknown{"Q", 4};
  dyn_session* none = nullptr;
  fails(DYN_ERROR_USER, dyn_session_create(graph.get(), 1, &unknown, &none), "Q");
  CHECK(none == nullptr);
}

TEST_CASE("C: tensors in a device's memory, on the emulator") {
  const CGraph graph = c_graph(product, c_options(2, "emulator").get());
  CDevice device;
  succeeds(dyn_device_of(graph.get(), Into(device)));
  const char* name = nullptr;
  succeeds(dyn_device_name(device.get(), &name));
  CHECK(std::string(name).find("emulated") != std::string::npos);
  std::vector<float> values(5 * 32);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 2.5f;
  const std::int64_t sizes[] = {5, 32};
  CTensor x, there, back;
  succeeds(dyn_tensor_view_const(DYN_F32, values.data(), 2, sizes, Into(x)));
  succeeds(dyn_device_upload(device.get(), x.get(), Into(there)));
  uint64_t address = 0;
  bool on_device = false;
  succeeds(dyn_tensor_address(there.get(), &address, &on_device));
  CHECK(on_device);
  CHECK(address != 0);
  const void* data = nullptr;
  fails(DYN_ERROR_USER, dyn_tensor_data(there.get(), DYN_F32, &data), "download");
  succeeds(dyn_device_download(device.get(), there.get(), Into(back)));
  succeeds(dyn_tensor_data(back.get(), DYN_F32, &data));
  CHECK(std::memcmp(data, values.data(), values.size() * 4) == 0);

  CStream stream;
  succeeds(dyn_stream_create(device.get(), Into(stream)));
  CCall call;
  succeeds(dyn_call_create(graph.get(), Into(call)));
  succeeds(dyn_call_set_input(call.get(), 0, there.get()));
  succeeds(dyn_call_set_output_device(call.get(), 0, device.get()));
  succeeds(dyn_call_set_stream(call.get(), stream.get()));
  succeeds(dyn_call_run(call.get()));
  succeeds(dyn_call_wait(call.get()));
  succeeds(dyn_stream_wait(stream.get()));
  CTensor y, result, plain;
  succeeds(dyn_call_output(call.get(), 0, Into(y)));
  succeeds(dyn_device_download(device.get(), y.get(), Into(result)));
  const dyn_named_tensor input{"x", x.get()};
  dyn_tensor* expected = nullptr;
  succeeds(dyn_graph_run(graph.get(), 1, &input, 1, &expected));
  plain.reset(expected);
  const void *first = nullptr, *second = nullptr;
  succeeds(dyn_tensor_data(result.get(), DYN_F32, &first));
  succeeds(dyn_tensor_data(expected, DYN_F32, &second));
  CHECK(std::memcmp(first, second, 5 * 16 * 4) == 0);

  CTensor empty;
  succeeds(dyn_device_allocate(device.get(), DYN_F32, 2, sizes, Into(empty)));
  dyn_tensor* view = nullptr;
  fails(DYN_ERROR_USER, dyn_device_view(device.get(), DYN_F32, 16, 2, sizes, &view));
  dyn_stream* foreign = nullptr;
  fails(DYN_ERROR_UNSUPPORTED, dyn_stream_of(device.get(), nullptr, &foreign));
  const CGraph host = c_graph(product, c_options().get());
  dyn_device* none = nullptr;
  fails(DYN_ERROR_USER, dyn_device_of(host.get(), &none));
}

TEST_CASE("C: texts go in and come out") {
  const CGraph graph = c_graph(equal_texts, c_options().get());
  CCoder coder;
  succeeds(dyn_coder_create(graph.get(), Into(coder)));
  const char* const a[] = {"eel", "dog", "cat"};
  const char* const b[] = {"eelX", "dog", "caterpillar"};
  const size_t lengths[] = {3, 3, 5};
  const std::int64_t three = 3;
  CTensor first, second;
  succeeds(dyn_coder_encode(coder.get(), "a", 3, a, nullptr, 1, &three, Into(first)));
  succeeds(dyn_coder_encode(coder.get(), "b", 3, b, lengths, 1, &three, Into(second)));
  const dyn_named_tensor inputs[] = {{"a", first.get()}, {"b", second.get()}};
  dyn_tensor* outputs[2] = {};
  succeeds(dyn_graph_run(graph.get(), 2, inputs, 2, outputs));
  const CTensor same(outputs[0]), c(outputs[1]);
  const void* data = nullptr;
  succeeds(dyn_tensor_data(same.get(), DYN_BOOL, &data));
  CHECK(std::memcmp(data, "\1\1\0", 3) == 0);
  CTexts texts;
  succeeds(dyn_coder_decode(coder.get(), "c", c.get(), Into(texts)));
  size_t count = 0, length = 0;
  const char* text = nullptr;
  succeeds(dyn_texts_count(texts.get(), &count));
  REQUIRE(count == 3);
  succeeds(dyn_texts_get(texts.get(), 2, &text, &length));
  CHECK(std::string(text, length) == "cater");
  fails(DYN_ERROR_USER, dyn_texts_get(texts.get(), 3, &text, &length), "there are 3");
  succeeds(dyn_coder_forget(coder.get()));
  dyn_texts* none = nullptr;
  fails(DYN_ERROR_USER, dyn_coder_decode(coder.get(), "c", c.get(), &none));
  dyn_tensor* tensor = nullptr;
  fails(DYN_ERROR_USER, dyn_coder_encode(coder.get(), "a", 2, a, nullptr, 1, &three, &tensor));

  CPort port;
  succeeds(dyn_graph_input(graph.get(), 0, Into(port)));
  bool is_text = false;
  succeeds(dyn_port_text_count(port.get(), &is_text, &count));
  CHECK(is_text);
  REQUIRE(count == 2);
  succeeds(dyn_port_text(port.get(), 1, &text, &length));
  CHECK(std::string(text, length) == "eel");
  fails(DYN_ERROR_USER, dyn_port_text(port.get(), 2, &text, &length), "there is no text number 2");
}
