// .npy files: what NumPy writes is read, what we write has NumPy's form, and nothing broken gets
// through.

#include "src/cli/input/npy.hpp"

#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "tests/unit/cli/input/temporary_file.hpp"

using dyn::testing::TemporaryFile;

namespace {

std::string file_of(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + header + data;
}

std::string header_of(const std::string& descr, const std::string& shape,
                      const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

}  // namespace

TEST_CASE("npy: written and read again, bit for bit") {
  const TemporaryFile file;
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  for (const dyn::Shape& shape : {dyn::Shape{}, dyn::Shape{0}, dyn::Shape{1}, dyn::Shape{3, 0, 2},
                                  dyn::Shape{5, 7}, dyn::Shape{2, 3, 4, 5}}) {
    dyn::Tensor tensor(dyn::DType::f32, shape);
    for (float& element : tensor.mutable_data<float>()) element = normal(generator);
    dyn::cli::write_npy(file.path, tensor);
    const dyn::Tensor back = dyn::cli::read_npy(file.path);
    CHECK(back.dtype() == dyn::DType::f32);
    CHECK(back.shape() == shape);
    CHECK(std::memcmp(back.raw(), tensor.raw(), tensor.bytes()) == 0);
  }
}

TEST_CASE("npy: the written header is NumPy's, with the data aligned") {
  const TemporaryFile file;
  dyn::cli::write_npy(file.path, dyn::Tensor::from<std::int64_t>({5, -6}, {2}));
  const std::string bytes = file.read();
  const std::size_t header =
      static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  CHECK((10 + header) % 64 == 0);
  CHECK(bytes.size() == 10 + header + 16);
  CHECK(bytes.substr(10).starts_with("{'descr': '<i8', 'fortran_order': False, 'shape': (2, ), }"));
  CHECK(bytes[9 + header] == '\n');
}

TEST_CASE("npy: every dtype, versions 1 to 3, and loose spacing are read") {
  const TemporaryFile file;
  const std::pair<const char*, dyn::DType> types[] = {
      {"<f4", dyn::DType::f32}, {"<f2", dyn::DType::f16}, {"|i1", dyn::DType::i8},
      {"<f8", dyn::DType::f64}, {"<i2", dyn::DType::i16}, {"|u1", dyn::DType::u8},
      {"<u2", dyn::DType::u16}, {"<u4", dyn::DType::u32}, {"<u8", dyn::DType::u64},
      {"<i4", dyn::DType::i32}, {"<i8", dyn::DType::i64}, {"|b1", dyn::DType::boolean}};
  for (const auto& [code, dtype] : types) {
    for (const char version : {1, 2, 3}) {
      file.write(
          file_of(header_of(code, "(2, 3)"), std::string(6 * dyn::size_of(dtype), '\1'), version));
      const dyn::Tensor tensor = dyn::cli::read_npy(file.path);
      CHECK(tensor.dtype() == dtype);
      CHECK(tensor.shape() == dyn::Shape{2, 3});
    }
  }
  file.write(
      file_of("{ 'shape' : ( 3 ,) ,'fortran_order':False,  'descr':'<i4'}", std::string(12, '\2')));
  CHECK(dyn::cli::read_npy(file.path).shape() == dyn::Shape{3});
}

TEST_CASE("npy: texts are read and written as NumPy does") {
  const TemporaryFile file;
  const std::vector<std::string> texts{
      "cat", "", "\xc3\xa9t\xc3\xa9", "\xf0\x9f\x90\xb1!", "\xe6\x97\xa5", "a b"};
  dyn::cli::write_npy(file.path, dyn::cli::TextArray{texts, {2, 3}});
  CHECK(file.read().substr(10).starts_with(
      "{'descr': '<U3', 'fortran_order': False, 'shape': (2, 3"));
  const auto back = std::get<dyn::cli::TextArray>(dyn::cli::read_any_npy(file.path));
  CHECK(back.texts == texts);
  CHECK(back.shape == dyn::Shape{2, 3});
  file.write(file_of(header_of("|S3", "(2,)"), std::string("ab\0\xc3\xa9x", 6)));
  CHECK(std::get<dyn::cli::TextArray>(dyn::cli::read_any_npy(file.path)).texts ==
        std::vector<std::string>{"ab", "\xc3\xa9x"});
  dyn::cli::write_npy(file.path, dyn::cli::TextArray{{"", ""}, {2}});
  CHECK(std::get<dyn::cli::TextArray>(dyn::cli::read_any_npy(file.path)).texts ==
        std::vector<std::string>{"", ""});
  file.write(file_of(header_of("<f4", "(1,)"), std::string(4, '\0')));
  CHECK(std::get<dyn::Tensor>(dyn::cli::read_any_npy(file.path)).size() == 1);
  for (const char* broken : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\x80", "\xc3x",
                             "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"})
    CHECK_THROWS_AS(dyn::cli::write_npy(file.path, dyn::cli::TextArray{{broken}, {1}}), dyn::Error);
}

TEST_CASE("npy: broken files of texts are errors") {
  const TemporaryFile file;
  const std::string data("a\0\0\0b\0\0\0", 8);
  const std::string good = file_of(header_of("<U1", "(2,)"), data);
  file.write(good);
  CHECK_NOTHROW(dyn::cli::read_any_npy(file.path));
  CHECK_THROWS_WITH_AS(dyn::cli::read_npy(file.path),
                       doctest::Contains("it holds texts, not numbers"), dyn::Error);
  const std::string cases[] = {
      good.substr(0, good.size() - 1),
      good.substr(0, good.size() - 4),
      file_of(header_of("<U2", "(2,)"), data),
      file_of(header_of("<U1", "(3,)"), data),
      file_of(header_of("|S5", "(2,)"), data),
      file_of(header_of(">U1", "(2,)"), data),
      file_of(header_of("<U", "(2,)"), data),
      file_of(header_of("<U-1", "(2,)"), data),
      file_of(header_of("<Ux", "(2,)"), data),
      file_of(header_of("<U99999999999999999999", "(2,)"), data),
      file_of(header_of("<U4611686018427387904", "(2,)"), data),
      file_of(header_of("<U0", "(1000000000000,)"), data),
      file_of(header_of("|O", "(2,)"), data),
      file_of(header_of("<U1", "(1,)"), std::string("\0\xd8\0\0", 4)),
      file_of(header_of("<U1", "(1,)"), std::string("\0\0\x11\0", 4)),
      file_of(header_of("<U1", "(1,)"), std::string("\xff\xff\xff\xff", 4)),
  };
  for (const std::string& bytes : cases) {
    CAPTURE(bytes);
    file.write(bytes);
    CHECK_THROWS_AS(dyn::cli::read_any_npy(file.path), dyn::Error);
  }
}

TEST_CASE("npy: broken files are errors that name the file") {
  const TemporaryFile file;
  const std::string data(24, '\0');
  const std::string good = file_of(header_of("<f4", "(2, 3)"), data);
  const std::string cases[] = {
      "",
      "noise",
      good.substr(0, 7),
      good.substr(0, 30),
      good.substr(0, good.size() - 1),
      file_of(header_of("<f4", "(2, 3)"), data, 9),
      file_of(header_of(">f4", "(2, 3)"), data),
      file_of(header_of("<c8", "(2, 3)"), data),
      file_of(header_of("<f4", "(2, 3)", "True"), data),
      file_of(header_of("<f4", "(2, -3)"), data),
      file_of(header_of("<f4", "(2, 3"), data),
      file_of(header_of("<f4", "2, 3"), data),
      file_of(header_of("<f4", "(2, x)"), data),
      file_of(header_of("<f4", "(9223372036854775807, 9223372036854775807)"), data),
      file_of(header_of("<f4", "(1000000000000,)"), data),
      file_of("{'fortran_order': False, 'shape': (2, 3)}", data),
      file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", data),
      file_of("{'descr'", data),
      std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12),
  };
  for (const std::string& bytes : cases) {
    CAPTURE(bytes);
    file.write(bytes);
    CHECK_THROWS_AS(dyn::cli::read_npy(file.path), dyn::Error);
  }
  CHECK_THROWS_AS(dyn::cli::read_npy(file.path + ".missing"), dyn::Error);
}

TEST_CASE("tensors of any names have files of their own, all in one folder") {
  using dyn::cli::file_names;
  const std::vector<std::string> names{
      "y", "gpu_0/softmax_1", "gpu_0_softmax_1",     "../../y", "", ".", "a b:c",
      "y", "\xc3\xa9",        std::string(5000, 'x')};
  const std::vector<std::string> files = file_names(names);
  CHECK(std::vector<std::string>(files.begin(), files.end() - 1) ==
        std::vector<std::string>{"y", "gpu_0_softmax_1", "gpu_0_softmax_1_2", "_.._.._y", "_", "_.",
                                 "a_b_c", "y_2", "\xc3\xa9"});
  CHECK(files.back().size() == 200);
}
