#include <algorithm>
#include <limits>
#include <span>

#include "dyn/dtype.hpp"
#include "dyn/tensor.hpp"
#include "dyn/version.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using dyn::testing::check_error;

TEST_CASE("dtypes have sizes, and names that are read back") {
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8, DType::i16, DType::i32,
        DType::i64, DType::u8, DType::u16, DType::u32, DType::u64, DType::boolean}) {
    CHECK(parse_dtype(name_of(dtype)) == dtype);
  }
  CHECK(size_of(DType::i64) == 8);
  CHECK(size_of(DType::boolean) == 1);
  CHECK_FALSE(parse_dtype("f128").has_value());
}

TEST_CASE("an error's text is its message and its places, innermost first") {
  const Error error = Error(ErrorKind::model, "broken").within("line 3").within("loading 'x'");
  CHECK(std::string(error.what()) == "broken\n  in line 3\n  in loading 'x'");
  CHECK(error.message() == "broken");
  CHECK(error.where().size() == 2);
}

TEST_CASE("the version's text is the macro's") {
  CHECK(std::string(version()) == std::to_string(DYN_VERSION_MAJOR) + "." +
                                      std::to_string(DYN_VERSION_MINOR) + "." +
                                      std::to_string(DYN_VERSION_PATCH));
}

TEST_CASE("tensors own zeroed, aligned memory; copies share it") {
  Tensor tensor(DType::f32, {2, 3});
  CHECK(reinterpret_cast<std::uintptr_t>(tensor.raw()) % 64 == 0);
  for (const float x : tensor.data<float>()) CHECK(x == 0);
  const Tensor copy = tensor;
  tensor.mutable_data<float>()[4] = 5;
  CHECK(copy.data<float>()[4] == 5);
  CHECK(Tensor(DType::i64, {3, 0}).bytes() == 0);
  CHECK(Tensor(DType::i64, {}).size() == 1);
  CHECK(Tensor().empty());
}

TEST_CASE("bad shapes, dtypes and sizes are user errors") {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  check_error(ErrorKind::user, [] { Tensor(DType::f32, {2, -1}); }, "negative");
  check_error(ErrorKind::user, [&] { element_count(Shape{huge, 2}); }, "63 bits");
  check_error(ErrorKind::user, [&] { Tensor(DType::f32, {huge / 2}); }, "bytes");
  CHECK(element_count(Shape{huge, huge, 0}) == 0);
  const std::vector<float> values(5);
  check_error(ErrorKind::user, [&] { Tensor::view(values, {2, 3}); }, "[2, 3]", "5");
  Tensor view = Tensor::view(values, {5});
  check_error(ErrorKind::user, [&] { view.data<std::int64_t>(); }, "f32", "i64");
  check_error(ErrorKind::user, [&] { view.mutable_data<float>(); }, "read-only");
  check_error(ErrorKind::user, [] { Tensor::view(static_cast<float*>(nullptr), {1}); }, "null");
}

TEST_CASE(
    "tensors begin as zeros at 64 bytes, whether their memory is the heap's or the system's") {
  for (const std::int64_t count : {1, 65'535, 65'536, 3'000'001}) {
    for (int round = 0; round < 2;
         ++round) {  // the second time, the memory may have been used before
      dyn::Tensor tensor(dyn::DType::f32, {count});
      const std::span<float> data = tensor.mutable_data<float>();
      CHECK(reinterpret_cast<std::uintptr_t>(data.data()) % 64 == 0);
      CHECK(std::all_of(data.begin(), data.end(), [](float value) { return value == 0; }));
      std::fill(data.begin(), data.end(), 1.5F);
    }
  }
}
