// Files that people take for models are told apart by their first bytes.

#include "src/base/foreign_file.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

using dyn::foreign_file;
using namespace std::string_literals;

TEST_CASE("a file that is no model says what it is") {
  const std::pair<std::string, std::string> files[] = {
      {"PK\3\4\x14\0\0\0"s, "a zip archive"},
      {"PK\3\4\0\0\0\0"s + std::string(22, '\0') + "archive/data.pkl", "a checkpoint of PyTorch"},
      {"PK\5\6", "an empty zip archive"},
      {"\x1F\x8B\x08", "compressed by gzip"},
      {"\x28\xB5\x2F\xFD", "compressed by zstd"},
      {"\xFD"
       "7zXZ\0"s,
       "compressed by xz"},
      {"\x80\x02}q", "a pickle of Python"},
      {"\x80\x05\x95", "a pickle of Python"},
      {"<!DOCTYPE html>", "a page of HTML"},
      {"\xEF\xBB\xBF\n <HTML lang=en>", "a page of HTML"},
      {"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"},
      {"\x13\0\0\0\0\0\0\0{\"w\":"s, "a safetensors file"},
      {"\0\0\0\1\0\0\0\0{"s, "a safetensors file"},
      {"GGUF\3", "a GGUF file"},
      {"\x89HDF\r\n", "an HDF5 file"},
      {"\x1C\0\0\0TFL3"s, "a model of TensorFlow Lite"},
      {"dyn 1\n", "dyn's text"},
  };
  for (const auto& [head, what] : files) {
    CAPTURE(what);
    CHECK(foreign_file(head).starts_with(what));
    CHECK(foreign_file(head + std::string(1000, 'x')).starts_with(what));
  }
}

TEST_CASE("other files are no foreign ones, nor are cut ones") {
  const std::string files[] = {"",
                               "P",
                               "PK\3",
                               "\x80",
                               "\x80\x06",
                               "# dyn\ndyn 1\n",
                               "\x08\x09\x12\x07pytorch",
                               "<htm",
                               "<?xml version",
                               "version 2",
                               "\x13\0\0\0\0\0\0\0"s,
                               "\x01\0\0\0\0\0\0\0{"s,
                               "\0\0\0\0\0\0\0\1{"s,
                               std::string(300, ' ') + "<html>"};
  for (const std::string& head : files) {
    CAPTURE(head);
    CHECK(foreign_file(head).empty());
  }
}
