#include "src/python/bindings/host/reader.hpp"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "src/python/bindings/bytes.hpp"
#include "src/python/bindings/host/shared_object.hpp"

namespace dyn::python {
namespace {

class PythonReader final : public Reader {
  nb::handle own() const { return reader_.get(); }

  template <class Ask>
  auto asked(const Ask& ask) {
    return with_gil(*failure_, ErrorKind::device, ask);
  }

  static std::uint64_t number(nb::handle object, const char* what) {
    const auto refuse = [&] {
      user_error(std::string(what) + " gave " + to_utf8(nb::repr(object)) +
                 ", which is no number of bytes");
    };
    if (PyIndex_Check(object.ptr()) == 0 || PyBool_Check(object.ptr()) != 0) refuse();
    PyObject* const index = PyNumber_Index(object.ptr());
    if (index == nullptr) throw nb::python_error();
    const nb::object held = nb::steal(index);
    const unsigned long long bytes = PyLong_AsUnsignedLongLong(index);
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      refuse();
    }
    return bytes;
  }

  /// A model that is imported again and again lends the same memory each time.
  std::span<const std::byte> kept(std::unique_ptr<Bytes> lent) {
    const std::span<const std::byte> bytes = lent->bytes();
    for (const auto& before : lent_) {
      const std::span<const std::byte> known = before->bytes();
      if (known.data() == bytes.data() && known.size() == bytes.size()) return known;
    }
    lent_.push_back(std::move(lent));
    return bytes;
  }

 public:
  PythonReader(nb::handle reader, std::shared_ptr<PythonFailure> failure)
      : reader_(nb::borrow(reader)), failure_(std::move(failure)) {}

  ~PythonReader() override {
    if (Py_IsInitialized() == 0) {
      for (auto& lent : lent_) static_cast<void>(lent.release());
      return;
    }
    const WithGil gil;
    const nb::error_scope own_error;
    lent_.clear();
  }

  std::uint64_t size(const std::string& name) override {
    return asked([&] {
      const nb::object size = call_python(own().attr("size"), to_python(name));
      return number(size, "size()");
    });
  }

  std::size_t read(const std::string& name, std::uint64_t offset,
                   std::span<std::byte> into) override {
    return asked([&] {
      const nb::object given =
          call_python(own().attr("read"), to_python(name), offset, into.size());
      const Bytes lent(given, "read() gave");
      const std::span<const std::byte> bytes = lent.bytes();
      if (bytes.size() == into.size() && !into.empty())
        std::memcpy(into.data(), bytes.data(), into.size());
      return bytes.size();
    });
  }

  std::optional<std::span<const std::byte>> in_place(const std::string& name) override {
    return asked([&]() -> std::optional<std::span<const std::byte>> {
      if (!nb::hasattr(own(), "in_place")) return std::nullopt;
      const nb::object given = call_python(own().attr("in_place"), to_python(name));
      if (given.is_none()) return std::nullopt;
      return kept(std::make_unique<Bytes>(given, "in_place() gave"));
    });
  }

  std::string identity(const std::string& name) override {
    return asked([&]() -> std::string {
      if (!nb::hasattr(own(), "identity")) return {};
      const nb::object text = call_python(own().attr("identity"), to_python(name));
      if (text.is_none()) return {};
      if (PyUnicode_Check(text.ptr()) == 0)
        user_error("identity() gave " + described(text) + ", not a str");
      return to_utf8(text);
    });
  }

 private:
  SharedObject reader_;
  std::shared_ptr<PythonFailure> failure_;
  std::vector<std::unique_ptr<Bytes>> lent_;
};

}  // namespace

std::shared_ptr<Reader> make_reader(nb::handle reader,
                                    const std::shared_ptr<PythonFailure>& failure) {
  for (const char* name : {"size", "read"}) {
    const nb::object function = nb::getattr(reader, name, nb::none());
    if (PyCallable_Check(function.ptr()) == 0)
      user_error("a reader has size(name) and read(name, offset, bytes), but " + described(reader) +
                 " has no " + name + "()");
  }
  return std::make_shared<PythonReader>(reader, failure);
}

}  // namespace dyn::python
