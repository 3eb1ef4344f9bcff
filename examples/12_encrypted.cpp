// An ONNX model and its external data from an encrypted container: nothing of them is ever on disk
// in the clear.

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <dyn/dyn.hpp>

namespace {

using Key = std::array<std::uint32_t, 8>;

/// ChaCha20 (RFC 8439, section 2.3): 64 bytes of key stream. Any block can be made by itself, so
/// any range of a file can be read by itself.
std::array<std::uint8_t, 64> key_stream(const Key& key, std::uint32_t file, std::uint32_t block) {
  std::array<std::uint32_t, 16> state = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  std::copy(key.begin(), key.end(), state.begin() + 4);
  state[12] = block;
  state[13] = file;  // the nonce: one for each file
  std::array<std::uint32_t, 16> mixed = state;
  const auto quarter = [&](int a, int b, int c, int d) {
    mixed[a] += mixed[b], mixed[d] = std::rotl(mixed[d] ^ mixed[a], 16);
    mixed[c] += mixed[d], mixed[b] = std::rotl(mixed[b] ^ mixed[c], 12);
    mixed[a] += mixed[b], mixed[d] = std::rotl(mixed[d] ^ mixed[a], 8);
    mixed[c] += mixed[d], mixed[b] = std::rotl(mixed[b] ^ mixed[c], 7);
  };
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) quarter(i, 4 + i, 8 + i, 12 + i);
    for (int i = 0; i < 4; ++i) quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
  }
  std::array<std::uint8_t, 64> bytes;
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t word = mixed[i] + state[i];
    std::memcpy(bytes.data() + 4 * i, &word, 4);
  }
  return bytes;
}

/// The same for both ways. A product also needs a MAC, such as Poly1305: this finds no forgery.
void crypt(const Key& key, std::uint32_t file, std::uint64_t offset, std::uint8_t* bytes,
           std::size_t count) {
  std::array<std::uint8_t, 64> stream{};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t place = offset + i;
    if (i == 0 || place % 64 == 0)
      stream = key_stream(key, file, static_cast<std::uint32_t>(place / 64));
    bytes[i] ^= stream[place % 64];
  }
}

/// Files one after the other in one file of the system, each encrypted.
class Container final : public dyn::Reader {
 public:
  static void write(const std::string& path, const Key& key,
                    const std::vector<std::pair<std::string, std::string>>& files) {
    std::ofstream out(path, std::ios::binary);
    for (std::uint32_t i = 0; i < files.size(); ++i) {
      std::string bytes = files[i].second;
      crypt(key, i, 0, reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size());
      out << files[i].first << '\n' << bytes.size() << '\n' << bytes;
    }
  }

  Container(const std::string& path, const Key& key) : key_(key), file_(path, std::ios::binary) {
    std::string name, size;
    for (std::uint32_t i = 0; std::getline(file_, name) && std::getline(file_, size); ++i) {
      entries_[name] = {i, static_cast<std::uint64_t>(file_.tellg()), std::stoull(size)};
      file_.seekg(static_cast<std::streamoff>(entries_[name].bytes), std::ios::cur);
    }
    file_.clear();
  }

  std::uint64_t size(const std::string& name) override { return entry(name).bytes; }

  std::size_t read(const std::string& name, std::uint64_t offset,
                   std::span<std::byte> into) override {
    const Entry& from = entry(name);
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(from.place + offset));
    file_.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    const auto got = static_cast<std::size_t>(file_.gcount());
    crypt(key_, from.number, offset, reinterpret_cast<std::uint8_t*>(into.data()), got);
    return got;
  }

 private:
  struct Entry {
    std::uint32_t number = 0;
    std::uint64_t place = 0, bytes = 0;
  };

  const Entry& entry(const std::string& name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) throw std::runtime_error("it is not in the container");
    return found->second;
  }

  Key key_;
  std::ifstream file_;
  std::map<std::string, Entry> entries_;
};

// A tool writes ONNX files; to stand alone, this program writes one of protobuf's fields itself.

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes += static_cast<char>(value);
}
std::string field(unsigned number, const std::string& bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string field(unsigned number, std::uint64_t value) {
  return varint(number << 3) + varint(value);
}

/// f32 y[N, 2] = x[N, 2] + w, where w is in the file "w.bin".
std::string onnx_model() {
  const auto port = [](const char* name) {
    const std::string dims = field(1, field(2, "N")) + field(1, field(1, std::uint64_t{2}));
    return field(1, name) + field(2, field(1, field(1, std::uint64_t{1}) + field(2, dims)));
  };
  const std::string node = field(1, "x") + field(1, "w") + field(2, "y") + field(4, "Add");
  const std::string w = field(1, std::uint64_t{2}) + field(2, std::uint64_t{1}) + field(8, "w") +
                        field(13, field(1, "location") + field(2, "w.bin")) +
                        field(14, std::uint64_t{1});
  const std::string graph =
      field(1, node) + field(2, "sum") + field(5, w) + field(11, port("x")) + field(12, port("y"));
  return field(1, std::uint64_t{8}) + field(7, graph) + field(8, field(2, std::uint64_t{17}));
}

}  // namespace

int main() {
  const Key key = {0x01234567, 0x89abcdef, 0xdeadbeef, 1, 2, 3, 4, 5};
  const float w[2] = {10, 20};
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("dyn-example-" + std::to_string(std::random_device()()));
  Container::write(path.string(), key,
                   {{"sum.onnx", onnx_model()},
                    {"w.bin", std::string(reinterpret_cast<const char*>(w), sizeof w)}});

  const auto container = std::make_shared<Container>(path.string(), key);
  const dyn::Graph graph = dyn::Graph::from_reader("sum.onnx", container);
  std::filesystem::remove(path);
  const dyn::Outputs outputs = graph.run({{"x", dyn::Tensor::from<float>({1, 2, 3, 4}, {2, 2})}});
  const std::span<const float> y = outputs["y"].data<float>();
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);

  // With another key the bytes are no model, and the error says so.
  bool refused = false;
  try {
    const Key wrong = {};
    Container::write(path.string(), key, {{"sum.onnx", onnx_model()}});
    dyn::Graph::from_reader("sum.onnx", std::make_shared<Container>(path.string(), wrong));
  } catch (const dyn::Error& error) {
    refused = error.kind() == dyn::ErrorKind::model;
    std::printf("%s\n", error.what());
  }
  std::filesystem::remove(path);
  return y[0] == 11 && y[1] == 22 && y[2] == 13 && y[3] == 24 && refused ? 0 : 1;
}
