// What a builder refuses in C: errors, never a crash.

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "dyn/dyn.hpp"
#include "src/c/handles.hpp"
#include "tests/unit/c/model.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn::testing;

namespace {

/// A builder with x, f32[N, 24], as far as it is right.
struct Begun : CModel {
  Begun() {
    dim("N", 1, 64);
    x = input("x", "[N, 24]");
  }
  dyn_status* add(const char* name, const std::vector<dyn_value*>& inputs,
                  const std::vector<dyn_attribute>& attributes = {}) {
    result = &result_place;
    return dyn_builder_op(get(), name, inputs.size(), inputs.data(), attributes.size(),
                          attributes.data(), "y", &result_place);
  }
  dyn_value *x = nullptr, *result_place = nullptr, **result = nullptr;
};

struct Fault {
  const char* says;
  std::function<dyn_status*(Begun&)> work;
  dyn_kind kind = DYN_ERROR_USER;
};

dyn_value* const no_value = reinterpret_cast<dyn_value*>(0x1001);

const std::vector<Fault>& faults() {
  static const int64_t sizes[] = {3, 4};
  static dyn_value* made = nullptr;
  static const dyn_attribute nameless = with::integer(nullptr, 1),
                             no_text = with::text("shape", DYN_ATTRIBUTE_SIZES, nullptr);
  static const std::vector<Fault> all{
      {"unknown operator `relo`", [](Begun& b) { return b.add("relo", {b.x}); }, DYN_ERROR_MODEL},
      {"relu 'y'", [](Begun& b) { return b.add("relu", {b.x, b.x}); }, DYN_ERROR_MODEL},
      {"'op' is NULL", [](Begun& b) { return b.add(nullptr, {b.x}); }},
      {"the value is NULL", [](Begun& b) { return b.add("relu", {nullptr}); }},
      {"'inputs[1]'", [](Begun& b) { return b.add("add", {b.x, no_value}); }},
      {"in add", [](Begun& b) { return b.add("add", {b.x, nullptr}); }},
      {"was released already, or is none",
       [](Begun& b) { return b.add("relu", {reinterpret_cast<dyn_value*>(b.get())}); }},
      {"a value of another builder", [](Begun& b) { return b.add("relu", {Begun().x}); }},
      {"'inputs' is NULL",
       [](Begun& b) {
         return dyn_builder_op(b.get(), "relu", 1, nullptr, 0, nullptr, "y", &made);
       }},
      {"attribute axis must be an integer",
       [](Begun& b) { return b.add("softmax", {b.x}, {with::sizes("axis", "[0]")}); },
       DYN_ERROR_MODEL},
      {"attribute `axes`",
       [](Begun& b) { return b.add("softmax", {b.x}, {with::integer("axes", 1)}); },
       DYN_ERROR_MODEL},
      {"'attributes[].name' is NULL", [](Begun& b) { return b.add("softmax", {b.x}, {nameless}); }},
      {"'attributes[].text' is NULL", [](Begun& b) { return b.add("reshape", {b.x}, {no_text}); }},
      {"kind 99 is none",
       [](Begun& b) { return b.add("reshape", {b.x}, {with::text("shape", 99, "[N]")}); }},
      {"unknown dim `M`",
       [](Begun& b) { return b.add("reshape", {b.x}, {with::sizes("shape", "[M, 24]")}); },
       DYN_ERROR_MODEL},
      {"2 sizes, not one",
       [](Begun& b) {
         return b.add("topk", {b.x}, {with::text("k", DYN_ATTRIBUTE_SIZE, "N, N")});
       }},
      {"expected a list of dims",
       [](Begun& b) { return dyn_builder_input(b.get(), "z", DYN_F32, "N", &made); },
       DYN_ERROR_MODEL},
      {"the end of the list of dims",
       [](Begun& b) { return dyn_builder_input(b.get(), "z", DYN_F32, "[N] + 1", &made); },
       DYN_ERROR_MODEL},
      {"expected `]`",
       [](Begun& b) { return dyn_builder_input(b.get(), "z", DYN_F32, "[N", &made); },
       DYN_ERROR_MODEL},
      {"negative", [](Begun& b) { return dyn_builder_input(b.get(), "z", DYN_F32, "[-3]", &made); },
       DYN_ERROR_MODEL},
      {"'shape' is NULL",
       [](Begun& b) { return dyn_builder_input(b.get(), "z", DYN_F32, nullptr, &made); }},
      {"'value' is NULL",
       [](Begun& b) { return dyn_builder_input(b.get(), "z", DYN_F32, "[N]", nullptr); }},
      {"the dtype 77 is none",
       [](Begun& b) { return dyn_builder_input(b.get(), "z", 77, "[N]", &made); }},
      {"another value is called so",
       [](Begun& b) { return dyn_builder_input(b.get(), "x", DYN_F32, "[N]", &made); },
       DYN_ERROR_MODEL},
      {"no upper bound",
       [](Begun& b) { return dyn_builder_state(b.get(), "s", DYN_F32, "[_]", &made); },
       DYN_ERROR_MODEL},
      {"`N` is defined twice", [](Begun& b) { return dyn_builder_dim(b.get(), "N", 1, 2); },
       DYN_ERROR_MODEL},
      {"sizeof *dim",
       [](Begun& b) {
         dyn_dim dim{};
         return dyn_builder_dim_with(b.get(), &dim);
       }},
      {"'dim' is NULL", [](Begun& b) { return dyn_builder_dim_with(b.get(), nullptr); }},
      {"divisor",
       [](Begun& b) {
         dyn_dim dim{};
         dim.struct_size = sizeof dim;
         dim.text = "M";
         dim.high = 4;
         dim.divisor = -1;
         return dyn_builder_dim_with(b.get(), &dim);
       },
       DYN_ERROR_MODEL},
      {"the tensor is NULL",
       [](Begun& b) { return dyn_builder_weight(b.get(), "w", nullptr, &made); }},
      {"the rank 99 is more",
       [](Begun& b) { return dyn_builder_splat(b.get(), "w", DYN_F32, 99, sizes, 1, &made); }},
      {"cannot be 0.5",
       [](Begun& b) { return dyn_builder_splat(b.get(), "w", DYN_I32, 2, sizes, 0.5, &made); },
       DYN_ERROR_MODEL},
      {"more than 63 bits",
       [](Begun& b) {
         return dyn_builder_random(b.get(), "w", DYN_F32, 2, sizes, UINT64_MAX, &made);
       },
       DYN_ERROR_MODEL},
      {"room for no result",
       [](Begun& b) { return dyn_builder_ops(b.get(), "relu", 1, &b.x, 0, nullptr, 0, &made); }},
      {"'values' is NULL",
       [](Begun& b) { return dyn_builder_ops(b.get(), "relu", 1, &b.x, 0, nullptr, 2, nullptr); }},
      {"keeps its name", [](Begun& b) { return dyn_builder_rename(b.get(), b.x, "z"); }},
      {"'name' is NULL", [](Begun& b) { return dyn_builder_output(b.get(), nullptr, b.x); }},
      {"the value is NULL", [](Begun& b) { return dyn_builder_output(b.get(), "y", nullptr); }},
      {"the model has no outputs",
       [](Begun& b) {
         dyn_texts* text = nullptr;
         return dyn_builder_to_text(b.get(), &text);
       },
       DYN_ERROR_MODEL},
      {"a number has neither",
       [](Begun& b) {
         dyn_port* port = nullptr;
         return dyn_builder_port(b.get(), b.number(1), &port);
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("C: what a builder refuses, it says, and the first error stays") {
  const std::size_t before = dyn::c::live_handles();
  for (const Fault& fault : faults()) {
    Begun b;
    INFO(std::string(fault.says));
    const std::string first = fails(fault.kind, fault.work(b));
    CAPTURE(first);
    CHECK(first.find(fault.says) != std::string::npos);
    CHECK(b.result_place == nullptr);
  }
  CHECK(dyn::c::live_handles() == before);
}

TEST_CASE("C: an error that nobody has looked at is that of all that follows") {
  Begun b;
  dyn_status_release(b.add("relu", {b.x, b.x}));
  dyn_value* value = no_value;
  CTexts text;
  CGraph graph;
  fails(DYN_ERROR_MODEL, dyn_builder_input(b.get(), "z", DYN_F32, "[N]", &value), "relu 'y'");
  CHECK(value == nullptr);
  fails(DYN_ERROR_MODEL, dyn_builder_output(b.get(), "y", b.x), "relu 'y'");
  fails(DYN_ERROR_MODEL, dyn_builder_to_text(b.get(), Into(text)), "relu 'y'");
  fails(DYN_ERROR_MODEL, dyn_builder_weights(b.get(), Into(text)), "relu 'y'");
  fails(DYN_ERROR_MODEL, dyn_builder_load(b.get(), nullptr, nullptr, Into(graph)), "relu 'y'");
  CHECK(graph == nullptr);
}

TEST_CASE("C: a builder after its load, and after its release") {
  const std::size_t before = dyn::c::live_handles();
  {
    Begun b;
    dyn_value* const y = b.op("relu", {b.x});
    b.output("y", y);
    const COptions options = c_options();
    CGraph graph = b.load(options.get());
    dyn_value* value = nullptr;
    fails(DYN_ERROR_USER, dyn_builder_input(b.get(), "z", DYN_F32, "[N]", &value), "is whole");
    dyn_builder* const builder = b.get();
    b.release();
    CPort port;
    fails(DYN_ERROR_USER, dyn_builder_port(builder, y, Into(port)), "the builder 0x");
    fails(DYN_ERROR_USER, dyn_builder_load(builder, nullptr, nullptr, Into(graph)),
          "was released already");
    dyn_builder_release(builder);
    Begun other;
    fails(DYN_ERROR_USER, other.add("relu", {y}), "was released already");
    dyn_builder_release(reinterpret_cast<dyn_builder*>(y));
    dyn_builder_release(nullptr);
    fails(DYN_ERROR_USER, dyn_builder_create("g", nullptr, nullptr), "'builder' is NULL");
    CBuilder made;
    fails(DYN_ERROR_USER,
          dyn_builder_create("g", reinterpret_cast<const dyn_options*>(other.get()), Into(made)),
          "the options 0x");
  }
  CHECK(dyn::c::live_handles() == before);
}

TEST_CASE("C: a value of another builder is none of this one's") {
  Begun a, b;
  CPort port;
  fails(DYN_ERROR_USER, dyn_builder_port(a.get(), b.x, Into(port)), "a value of another builder");
  fails(DYN_ERROR_USER, dyn_builder_rename(a.get(), b.op("relu", {b.x}), "z"),
        "a value of another builder");
  b.output("y", b.x);
}

TEST_CASE("C: a builder has one user at a time") {
  CModel b;
  b.dim("N", 1, 8);
  std::atomic<int> refused = 0, added = 0, strange = 0;
  const auto add_inputs = [&](int first) {
    for (int i = 0; i < 400; ++i) {
      dyn_value* value = nullptr;
      dyn_status* const status = dyn_builder_input(
          b.get(), ("x" + std::to_string(first + i)).c_str(), DYN_F32, "[N]", &value);
      if (status == nullptr)
        ++added;
      else if (std::string(dyn_status_text(status)).find("in use by another") != std::string::npos)
        ++refused;
      else
        ++strange;
      dyn_status_release(status);
    }
  };
  std::thread other(add_inputs, 1000);
  add_inputs(0);
  other.join();
  CHECK(strange == 0);
  CHECK(added + refused == 800);
  CHECK(added > 0);
  // Nothing of this is an error of the model's.
  b.output("y", b.op("relu", {b.input("last", "[N]")}));
  CHECK(b.to_text().find("last: f32[N]") != std::string::npos);
}

TEST_CASE("C: operators and plug-ins of the options are those of the builder") {
  const COptions options = c_options();
  succeeds(dyn_options_add_plugin(options.get(), DYN_BINARY_DIR "/tests/plugins/scale.so"));
  CModel b("net", options.get());
  b.dim("N", 1, 64);
  b.output("y", b.op("own::scale", {b.input("x", "[N]")}, {with::number("factor", -3)}));
  // Loads may have the same options: their operators are not looked at.
  const CGraph graph = b.load(options.get());
  const dyn::Tensor x = dyn::Tensor::from<float>({1, -2, 5}, {3});
  const CTensor view = shared(x);
  const dyn_named_tensor input{"x", view.get()};
  CTensor output;
  succeeds(dyn_graph_run(graph.get(), 1, &input, 1, Into(output)));
  check_equal(output.get(), dyn::Tensor::from<float>({-3, 6, -15}, {3}));
  CBuilder none;
  succeeds(dyn_options_add_plugin(options.get(), "./no_plugin.so"));
  fails(DYN_ERROR_DEVICE, dyn_builder_create("net", options.get(), Into(none)),
        "the plug-in './no_plugin.so'");
}
