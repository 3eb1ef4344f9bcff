#pragma once
// Messages and bytes: protobuf's encoding, read and written with protozero.

#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "src/import/onnx/messages/repeated.hpp"

namespace dyn::onnx {

constexpr int deepest_message = 100;

/// The fields of one message. Functions throw protozero::exception, and read_message
/// a WireError, where bytes are none.
struct WireError {
  const char* at;  ///< in the bytes that were given
};

class WireReader {
 public:
  WireReader(std::string_view bytes, int depth)
      : fields_(bytes.data(), bytes.size()), depth_(depth) {}

  template <class M>
  void read_message(M& message) {
    try {
      if (depth_ > deepest_message) throw protozero::invalid_length_exception();
      while (fields_.next()) message.read_field(*this);
    } catch (const protozero::exception&) { throw WireError{fields_.data().data()}; }
  }

  std::uint32_t number() const { return fields_.tag(); }
  void skip() { check_length(), fields_.skip(); }

  // Each reads a field, and returns true; a field of another wire type is skipped.

  template <class T>
  bool read(std::optional<T>& field) {
    if (!is_of<T>()) return skip(), false;
    const T value = one<T>();
    if constexpr (std::is_enum_v<T>) {
      if (!is_known(value)) return false;
    }
    field = value;
    return true;
  }
  bool read(std::optional<std::string>& field) {
    if (!has_bytes()) return skip(), false;
    field.emplace(bytes());
    return true;
  }
  template <class M>
  bool read(OptionalMessage<M>& field) {
    if (!has_bytes()) return skip(), false;
    inner(*field.made());
    return true;
  }
  template <class T>
  bool read(RepeatedField<T>& field) {
    if (is_of<T>()) return field.Add(one<T>()), true;
    if (!has_bytes()) return skip(), false;
    add_packed(field, bytes());
    return true;
  }
  bool read(RepeatedPtrField<std::string>& field) {
    if (!has_bytes()) return skip(), false;
    field.Add(std::string(bytes()));
    return true;
  }
  template <class M>
  bool read(RepeatedPtrField<M>& field) {
    if (!has_bytes()) return skip(), false;
    inner(*field.Add());
    return true;
  }

 private:
  template <class T>
  static constexpr protozero::pbf_wire_type wire_type =
      std::is_same_v<T, float>    ? protozero::pbf_wire_type::fixed32
      : std::is_same_v<T, double> ? protozero::pbf_wire_type::fixed64
                                  : protozero::pbf_wire_type::varint;

  template <class T>
  bool is_of() const {
    return fields_.has_wire_type(wire_type<T>);
  }
  bool has_bytes() const {
    return fields_.has_wire_type(protozero::pbf_wire_type::length_delimited);
  }

  template <class T>
  T one() {
    if constexpr (std::is_same_v<T, float>)
      return fields_.get_float();
    else if constexpr (std::is_same_v<T, double>)
      return fields_.get_double();
    else
      return static_cast<T>(fields_.get_uint64());
  }

  /// protozero takes the lowest 32 bits of a length.
  void check_length() const {
    if (!has_bytes()) return;
    const protozero::data_view left = fields_.data();
    const char *at = left.data(), *const end = at + left.size();
    const std::uint64_t length = protozero::decode_varint(&at, end);
    if (length > static_cast<std::uint64_t>(end - at) ||
        length > std::numeric_limits<protozero::pbf_length_type>::max())
      throw protozero::end_of_buffer_exception();
  }
  std::string_view bytes() {
    check_length();
    const protozero::data_view view = fields_.get_view();
    return {view.data(), view.size()};
  }

  template <class M>
  void inner(M& message) {
    WireReader(bytes(), depth_ + 1).read_message(message);
  }

  template <class T>
  static void add_packed(RepeatedField<T>& field, std::string_view packed) {
    const char *at = packed.data(), *const end = at + packed.size();
    if constexpr (std::is_floating_point_v<T>) {
      if (packed.size() % sizeof(T) != 0) throw protozero::invalid_length_exception();
      for (; at != end; at += sizeof(T)) {
        T value;
        std::memcpy(&value, at, sizeof value);
        field.Add(value);
      }
    } else {
      while (at != end) field.Add(static_cast<T>(protozero::decode_varint(&at, end)));
    }
  }

  protozero::pbf_reader fields_;
  int depth_;
};

class WireWriter {
 public:
  explicit WireWriter(std::string& bytes) : fields_(bytes) {}

  template <class T>
  void write(std::uint32_t number, const std::optional<T>& field) {
    if (field) one(number, *field);
  }
  template <class M>
  void write(std::uint32_t number, const OptionalMessage<M>& field) {
    if (field.has_value()) inner(number, field.value());
  }
  template <class T>
  void write(std::uint32_t number, const RepeatedField<T>& field) {
    if (field.empty()) return;
    if constexpr (std::is_same_v<T, float>)
      fields_.add_packed_float(number, field.begin(), field.end());
    else if constexpr (std::is_same_v<T, double>)
      fields_.add_packed_double(number, field.begin(), field.end());
    else if constexpr (std::is_unsigned_v<T>)
      fields_.add_packed_uint64(number, field.begin(), field.end());
    else
      fields_.add_packed_int64(number, field.begin(), field.end());
  }
  void write(std::uint32_t number, const RepeatedPtrField<std::string>& field) {
    for (const std::string& each : field) fields_.add_bytes(number, each);
  }
  template <class M>
  void write(std::uint32_t number, const RepeatedPtrField<M>& field) {
    for (const M& each : field) inner(number, each);
  }

 private:
  void one(std::uint32_t number, const std::string& value) { fields_.add_bytes(number, value); }
  void one(std::uint32_t number, float value) { fields_.add_float(number, value); }
  template <class T>
  void one(std::uint32_t number, T value) {
    fields_.add_int64(number, static_cast<std::int64_t>(value));
  }
  template <class M>
  void inner(std::uint32_t number, const M& message) {
    fields_.add_message(number, message.SerializeAsString());
  }

  protozero::pbf_writer fields_;
};

}  // namespace dyn::onnx
