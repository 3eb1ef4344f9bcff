#include <cstring>
#include <random>

#include "src/runtime/weights/safetensors.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using dyn::runtime::Safetensors;
using dyn::testing::check_error;
using dyn::testing::safetensors_file;

namespace {

Safetensors read(const std::string& file) {
  return Safetensors::from_bytes("w.safetensors", std::as_bytes(std::span(file)));
}

/// The error for a file with this header and 64 bytes of data names the file and all `parts`.
template <class... Parts>
void check_header(const std::string& header, Parts... parts) {
  const std::string begin = header.substr(0, 200);
  CAPTURE(begin);
  const std::string file = safetensors_file(header, std::string(64, 'x'));
  check_error(ErrorKind::model, [&] { read(file); }, "w.safetensors", parts...);
}

const char* const good =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"I64","shape":[1],"data_offsets":[24,32]}})";

}  // namespace

TEST_CASE("a file's tensors are found by key") {
  std::string data(32, '\0');
  const float value = 1.5f;
  std::memcpy(data.data() + 20, &value, 4);
  const std::string bytes = safetensors_file(good, data);
  const Safetensors file = read(bytes);
  REQUIRE(file.entries().size() == 2);
  const auto* a = file.find("a");
  REQUIRE(a != nullptr);
  CHECK(a->dtype == DType::f32);
  CHECK(a->shape == Shape{2, 3});
  float last = 0;
  std::memcpy(&last, a->bytes.data() + 20, 4);
  CHECK(last == 1.5f);
  CHECK(file.find("c") == nullptr);
}

TEST_CASE("empty, truncated and noisy files") {
  check_error(ErrorKind::model, [] { read(""); }, "w.safetensors", "empty");
  check_error(ErrorKind::model, [] { read("1234567"); }, "7 bytes");
  check_error(
      ErrorKind::model, [] { read(std::string(7, '\0') + "\x80" + "{}"); }, "9223372036854775808",
      "truncated");
  const std::string whole = safetensors_file(good, std::string(32, '\0'));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string part = whole.substr(0, length);
    CHECK_THROWS_AS(read(part), Error);
  }
}

TEST_CASE("bad headers") {
  check_header("", "JSON");
  check_header("{", "JSON");
  check_header("[1]", "list");
  check_header("7", "number");
  check_header("\"x\"", "string");
  check_header("{\"\xff\":1}", "JSON");
  check_header(std::string(100000, '['), "list");
  check_header(R"({"a":)" + std::string(100000, '['), "list");
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += R"({"shape":)";
  check_header(objects, "object");
  check_header(R"({"a":null})", "a", "null");
  check_header(R"({"a":{"dtype":"F32","shape":[2]}})", "a", "data_offsets");
  check_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})", "a", "more");
  check_header(R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", "a", "F99");
  check_header(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "a", "negative");
  check_header(R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", "a", "integer");
  check_header(R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", "a", "number");
  check_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", "a", "two numbers");
  check_header(R"({"a":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}})", "a",
               "shape", "twice");
  check_header(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
      "'a' twice");
}

TEST_CASE("bad offsets") {
  check_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[60,68]}})", "a", "outside");
  check_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[16,8]}})", "a", "outside");
  check_header(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,18446744073709551615]}})",
      "a", "outside");
  check_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,12]}})", "a", "8 bytes", "12");
  check_header(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", "a",
               "overflow");
  check_header(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})", "a",
               "overflow");
  check_header(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
      "'a' and 'b' overlap");
}

TEST_CASE("random damage to a header never does worse than an error") {
  const unsigned seed = 20240607;
  MESSAGE("seed " << seed);
  std::mt19937 random(seed);
  const std::string whole = safetensors_file(good, std::string(32, '\0'));
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (int j = 0; j < 3; ++j) damaged[random() % damaged.size()] = static_cast<char>(random());
    try {
      read(damaged);
    } catch (const Error& error) { CHECK(error.kind() == ErrorKind::model); }
  }
}

TEST_CASE("a file that is not there, and one that is a folder") {
  check_error(ErrorKind::device, [] { Safetensors::open("no/such/file"); }, "no/such/file");
  check_error(ErrorKind::device, [] { Safetensors::open("."); }, "cannot read");
}
