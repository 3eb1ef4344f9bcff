#include "src/python/bindings/profile_object.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dyn/profile.hpp"
#include "src/python/bindings/info_objects.hpp"
#include "src/python/bindings/text_property.hpp"

namespace dyn::python {
namespace {

/// The last run that a dyn.Profile was given to. Used by whoever holds the GIL; a run fills a
/// dyn::Profile of its own.
struct ProfileObject {
  std::string label;
  std::shared_ptr<const Profile> run = std::make_shared<const Profile>();
  nb::object groups = nb::none(), events = nb::none(), slices = nb::none(), buffers = nb::none();

  void take(Profile own) {
    run = std::make_shared<const Profile>(std::move(own));
    for (nb::object* list : {&groups, &events, &slices, &buffers}) *list = nb::none();
  }
};

ProfileObject& known_profile(nb::handle object) {
  if (!nb::isinstance<ProfileObject>(object) || !nb::inst_ready(object))
    user_error("a profile is a dyn.Profile, not " + described(object));
  return *nb::inst_ptr<ProfileObject>(object);
}

template <auto list>
constexpr auto kept_list = nullptr;
template <>
constexpr auto kept_list<&Profile::groups> = &ProfileObject::groups;
template <>
constexpr auto kept_list<&Profile::events> = &ProfileObject::events;
template <>
constexpr auto kept_list<&Profile::slices> = &ProfileObject::slices;
template <>
constexpr auto kept_list<&Profile::buffers> = &ProfileObject::buffers;

/// A tuple, made when it is asked for first.
template <auto list>
void define_list(nb::class_<ProfileObject>& own, const char* name, const char* signature,
                 const char* doc = "") {
  own.def_prop_ro(
      name,
      [](ProfileObject& self) {
        nb::object& kept = self.*kept_list<list>;
        if (kept.is_none()) kept = nb::tuple(to_list((*self.run).*list));
        return kept;
      },
      nb::sig(signature), doc);
}

template <auto number>
void define_number(nb::class_<ProfileObject>& own, const char* name, const char* doc = "") {
  own.def_prop_ro(name, [](const ProfileObject& self) { return (*self.run).*number; }, doc);
}

const char* name_of_event(Profile::Kind kind) {
  constexpr const char* names[] = {"group", "copy", "wait"};
  return names[static_cast<std::size_t>(kind)];
}

std::string nanoseconds(std::int64_t start, std::int64_t end) {
  return std::to_string(end - start) + " ns";
}

void register_group(nb::module_& module) {
  using Group = Profile::Group;
  nb::class_<Group> own(module, "ProfileGroup",
                        "A kernel at one shape: what does not change from one of its executions\n"
                        "to the next.");
  define_text<&Group::name>(own, "name", "def name(self) -> str");
  define_text<&Group::operators>(own, "operators", "def operators(self) -> str",
                                 "Of the model, in order, with blanks between: \"matmul gelu\".");
  define_text<&Group::kernel>(own, "kernel", "def kernel(self) -> str",
                              "Its tree of layers and its shape classes, as text.");
  define_text<&Group::program>(own, "program", "def program(self) -> str",
                               "In words; empty where there is one way to run it.");
  define_text<&Group::device>(own, "device", "def device(self) -> str",
                              "\"cpu/avx512\"; \"host\" for what no kernel computes.");
  own.def_ro("flops", &Group::flops, "Those of products; a multiply-add counts as two.")
      .def_ro("bytes", &Group::bytes, "Those of operands, each read or written once.")
      .def_ro("predicted_seconds", &Group::predicted_seconds, "By the cost model.")
      .def_ro("threads", &Group::threads, "The most that may work at once.")
      .def_ro("tickets", &Group::tickets, "Independent units of work of the first stage.")
      .def_ro("merge_tickets", &Group::merge_tickets,
              "Of the stage that merges partial results; 0: there is none.")
      .def(
          "__repr__",
          [](const Group& self) {
            return repr_of("ProfileGroup",
                           self.name + ": " + self.operators + " on " + self.device);
          },
          nb::sig("def __repr__(self) -> str"));
}

void register_event(nb::module_& module) {
  using Event = Profile::Event;
  nb::class_<Event>(module, "ProfileEvent",
                    "What the run's caller was in, one event after the other.")
      .def_prop_ro(
          "kind", [](const Event& self) { return name_of_event(self.kind); },
          nb::sig("def kind(self) -> typing.Literal[\"group\", \"copy\", \"wait\"]"),
          "\"group\": an execution of a kernel. \"copy\": between the host's memory and a\n"
          "device's, for the group. \"wait\": for the device, before the group.")
      .def_ro("group", &Event::group, "Index into `groups`.")
      .def_ro("start_ns", &Event::start_ns)
      .def_ro("end_ns", &Event::end_ns)
      .def(
          "__repr__",
          [](const Event& self) {
            return repr_of("ProfileEvent", std::string(name_of_event(self.kind)) + " " +
                                               std::to_string(self.group) + ": " +
                                               nanoseconds(self.start_ns, self.end_ns));
          },
          nb::sig("def __repr__(self) -> str"));
}

void register_slice(nb::module_& module) {
  using Slice = Profile::Slice;
  nb::class_<Slice>(module, "ProfileSlice",
                    "Tickets [first, first + count) of a group's stage, which one thread did one\n"
                    "after the other.")
      .def_ro("event", &Slice::event, "Index into `events`.")
      .def_ro("thread", &Slice::thread, "0: the run's caller; others: the helper in this place.")
      .def_ro("stage", &Slice::stage, "0; 1: merging partial results.")
      .def_ro("first", &Slice::first)
      .def_ro("count", &Slice::count)
      .def_ro("start_ns", &Slice::start_ns)
      .def_ro("end_ns", &Slice::end_ns)
      .def(
          "__repr__",
          [](const Slice& self) {
            return repr_of("ProfileSlice", std::to_string(self.count) + " tickets of event " +
                                               std::to_string(self.event) + " by thread " +
                                               std::to_string(self.thread) + ": " +
                                               nanoseconds(self.start_ns, self.end_ns));
          },
          nb::sig("def __repr__(self) -> str"));
}

void register_buffer(nb::module_& module) {
  using Buffer = Profile::Buffer;
  nb::class_<Buffer> own(module, "ProfileBuffer",
                         "A place in the memory of intermediate tensors. Places whose events meet\n"
                         "never overlap.");
  define_text<&Buffer::tensor>(own, "tensor", "def tensor(self) -> str");
  own.def_ro("on_device", &Buffer::on_device)
      .def_ro("offset", &Buffer::offset)
      .def_ro("bytes", &Buffer::bytes)
      .def_ro("first_event", &Buffer::first_event, "Of those that touch it: index into `events`.")
      .def_ro("last_event", &Buffer::last_event)
      .def(
          "__repr__",
          [](const Buffer& self) {
            return repr_of("ProfileBuffer", self.tensor + ": " + std::to_string(self.bytes) +
                                                " bytes at " + std::to_string(self.offset));
          },
          nb::sig("def __repr__(self) -> str"));
}

nb::object chrome_trace_of(nb::handle profiles) {
  if (PyList_Check(profiles.ptr()) == 0 && PyTuple_Check(profiles.ptr()) == 0)
    user_error("a trace is made of a list of dyn.Profile, not of " + described(profiles));
  std::vector<Profile> runs;
  for (const nb::handle each : profiles) {
    const ProfileObject& own = known_profile(each);
    runs.push_back(*own.run);
    runs.back().label = own.label;
  }
  return to_python(without_gil(nullptr, [&] { return chrome_trace(runs); }));
}

void make_profile(ProfileObject* self, nb::handle label) {
  std::string text = to_utf8(label);
  new (self) ProfileObject();
  self->label = std::move(text);
}

nb::object profile_repr(const ProfileObject& self) {
  const Profile& run = *self.run;
  return repr_of("Profile", "'" + self.label + "': " + nanoseconds(run.start_ns, run.end_ns) +
                                ", " + std::to_string(run.events.size()) + " events of " +
                                std::to_string(run.groups.size()) + " groups, " +
                                std::to_string(run.threads) + " threads");
}

}  // namespace

void run_call(Call& call, PythonFailure* failure, const RunOptions& options, nb::handle profile) {
  if (profile.is_none()) return without_gil(failure, [&] { call.run(options); });
  static_cast<void>(known_profile(profile));
  const nb::object kept = nb::borrow(profile);
  struct Told {
    Profile own;
    nb::handle object;
    ~Told() { known_profile(object).take(std::move(own)); }
  } told{{}, kept};
  without_gil(failure, [&] { call.run(told.own, options); });
}

void register_profile(nb::module_& module) {
  register_group(module);
  register_event(module);
  register_slice(module);
  register_buffer(module);
  nb::class_<ProfileObject> own(
      module, "Profile",
      "What one run did, where, and from when to when: `profile=` of a run fills it in. Times are\n"
      "those of time.monotonic_ns().");
  own.def("__init__", make_profile, nb::arg("label") = "",
          nb::sig("def __init__(self, label: str = \"\") -> None"),
          "`label` names the run in a trace.")
      .def_prop_rw(
          "label", [](const ProfileObject& self) { return to_python(self.label); },
          [](ProfileObject& self, nb::handle label) { self.label = to_utf8(label); },
          nb::for_getter(nb::sig("def label(self) -> str")),
          nb::for_setter(nb::sig("def label(self, label: str, /) -> None")));
  define_number<&Profile::start_ns>(own, "start_ns", "Of the whole run: planning, and all events.");
  define_number<&Profile::end_ns>(own, "end_ns");
  define_number<&Profile::threads>(own, "threads", "The most of all groups.");
  define_number<&Profile::arena_bytes>(own, "arena_bytes", "Of intermediate tensors on the host.");
  define_number<&Profile::device_arena_bytes>(own, "device_arena_bytes", "And on the device.");
  define_number<&Profile::scratch_bytes>(own, "scratch_bytes",
                                         "Of each thread: the most of all groups.");
  define_list<&Profile::groups>(own, "groups", "def groups(self) -> tuple[ProfileGroup, ...]");
  define_list<&Profile::events>(own, "events", "def events(self) -> tuple[ProfileEvent, ...]",
                                "In order; a group stands there once for each execution.");
  define_list<&Profile::slices>(own, "slices", "def slices(self) -> tuple[ProfileSlice, ...]",
                                "By event, then by thread, then by start; none of a device's.");
  define_list<&Profile::buffers>(own, "buffers", "def buffers(self) -> tuple[ProfileBuffer, ...]",
                                 "Of each plan at its first execution.");
  own.def("__repr__", profile_repr, nb::sig("def __repr__(self) -> str"));
  module.def("chrome_trace", chrome_trace_of, nb::arg("profiles").none(),
             nb::sig("def chrome_trace(profiles: collections.abc.Sequence[Profile]) -> str"),
             "The runs in the trace event format, which https://ui.perfetto.dev and\n"
             "chrome://tracing open: a process for each run, a track for each thread.");
}

}  // namespace dyn::python
