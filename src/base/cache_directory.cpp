#include "src/base/cache_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/readable_file.hpp"

namespace dyn {
namespace {

using std::chrono::system_clock;

const char* const key_name = "key";
constexpr std::string_view unfinished_end = ".tmp", code_end = ".o", weights_start = "weights-",
                           weights_end = ".bin", figures_end = ".json";
constexpr std::array<std::string_view, 4> figures_starts = {"machine-", "blocks-", "vendor-",
                                                            "peak-"};
constexpr std::size_t hash_digits = 32;
/// No process writes for so long: an unfinished file of this age was left by one that was killed.
constexpr std::chrono::hours abandoned_after{1};
/// A program that is used at all is used within this time.
constexpr std::chrono::hours unused_after{24 * 90};
/// Uses are noted no more often.
constexpr std::chrono::hours use_noted_every{1};

bool is_hash(std::string_view text) {
  return text.size() == hash_digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_code(std::string_view name) {
  return name.ends_with(code_end) && is_hash(name.substr(0, name.size() - code_end.size()));
}

bool is_weights(std::string_view name) {
  if (!name.starts_with(weights_start) || !name.ends_with(weights_end)) return false;
  name.remove_prefix(weights_start.size());
  return is_hash(name.substr(0, name.size() - weights_end.size()));
}

bool is_figures(std::string_view name) {
  return name.ends_with(figures_end) &&
         std::ranges::any_of(figures_starts,
                             [&](std::string_view start) { return name.starts_with(start); });
}

/// The system's error with that number, and what it means here.
std::string reason(int error) { return std::strerror(error); }

std::string unfinished_name(const std::string& name) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number))
    number = static_cast<std::uint64_t>(system_clock::now().time_since_epoch().count()) ^
             reinterpret_cast<std::uintptr_t>(&number);
  return fmt::format("{}.{:016x}{}", name, number, unfinished_end);
}

bool others_may_write(const struct stat& info) { return (info.st_mode & 022) != 0; }

/// True where this user owns it, and alone may write to it.
bool is_own(const struct stat& info) {
  return info.st_uid == ::geteuid() && !others_may_write(info);
}

/// Makes each folder of the path that is missing. Returns 0, or the system's error.
int make_folders(const std::string& path) {
  constexpr mode_t owner_only = 0700;
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    if (::mkdir(path.substr(0, end).c_str(), owner_only) != 0 && errno != EEXIST) {
      const int error = errno;
      struct stat info{};
      if (::stat(path.substr(0, end).c_str(), &info) != 0) return error;
    }
    if (end == std::string::npos) return 0;
  }
}

/// Returns a descriptor, or -1 and errno. A symbolic link is followed where this user made it.
int open_folder(const std::string& path) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  const int descriptor = ::open(path.c_str(), flags | O_NOFOLLOW);
  if (descriptor >= 0) return descriptor;
  const int error = errno;
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
    if (info.st_uid == ::geteuid() || info.st_uid == 0) return ::open(path.c_str(), flags);
    errno = EACCES;
    return -1;
  }
  errno = error;
  return -1;
}

std::string why_not_own(const struct stat& info, const std::string& path) {
  if (info.st_uid != ::geteuid())
    return fmt::format(
        "it belongs to the user with number {}, this process to {}, and code from there would be "
        "executed; name a directory of this user's own with DYN_CACHE_DIR or Options::cache_dir",
        info.st_uid, ::geteuid());
  return fmt::format(
      "other users may write to it, and code from there would be executed; name another with "
      "DYN_CACHE_DIR or Options::cache_dir, or, where it is dyn's alone, chmod go-w '{}'",
      path);
}

/// Returns 0, or the system's error. `offset` is the position in the file, before and after. File
/// systems with large folios keep in huge pages what is written in pieces that end where huge pages
/// do.
int write_all(int file, std::span<const std::byte> bytes, std::size_t& offset) {
  constexpr std::size_t piece_bytes = std::size_t{8} << 20;
  while (!bytes.empty()) {
    const ssize_t written =
        ::write(file, bytes.data(), std::min(bytes.size(), piece_bytes - offset % piece_bytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::size_t>(written);
  }
  return 0;
}

/// Returns 0, or the system's error, and then leaves no file behind.
int write_file(int directory, const std::string& name,
               std::initializer_list<std::span<const std::byte>> parts) {
  constexpr mode_t owner_only = 0600;
  const int file = ::openat(directory, name.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, owner_only);
  if (file < 0) return errno;
  std::size_t offset = 0;
  int error = 0;
  for (const std::span<const std::byte> part : parts) {
    if (error == 0) error = write_all(file, part, offset);
  }
  if (::close(file) != 0 && error == 0) error = errno;
  if (error != 0) ::unlinkat(directory, name.c_str(), 0);
  return error;
}

system_clock::time_point time_of(const struct timespec& time) {
  return system_clock::time_point(std::chrono::duration_cast<system_clock::duration>(
      std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec)));
}

}  // namespace

std::optional<CacheKind> cache_kind(std::string_view name) {
  if (name == key_name) return CacheKind::Key;
  if (is_code(name)) return CacheKind::Code;
  if (is_weights(name)) return CacheKind::Weights;
  if (is_figures(name)) return CacheKind::Figures;
  if (!name.ends_with(unfinished_end)) return std::nullopt;
  // The final name comes first, then words that tell it from others: a number, or two.
  name.remove_suffix(unfinished_end.size());
  for (int words = 0; words < 2; ++words) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    name = name.substr(0, dot);
    if (cache_kind(name)) return CacheKind::Unfinished;
  }
  return std::nullopt;
}

CacheDirectory::CacheDirectory(std::string path, Missing missing) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  if (path_.empty()) return;
  descriptor_ = open_folder(path_);
  int error = descriptor_ < 0 ? errno : 0;
  if (error == ENOENT) {
    if (missing == Missing::Leave) return;
    error = make_folders(path_);
    if (error == 0 && (descriptor_ = open_folder(path_)) < 0) error = errno;
  }
  struct stat info{};
  if (error == 0 && ::fstat(descriptor_, &info) != 0) error = errno;
  if (error == 0 && is_own(info)) return;
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  problem_ = fmt::format("the cache directory '{}' cannot be used: {}", path_,
                         error != 0 ? reason(error) : why_not_own(info, path_));
}

CacheDirectory::~CacheDirectory() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string CacheDirectory::path_of(std::string_view name) const {
  return fmt::format("{}/{}", path_, name);
}

std::unique_ptr<ReadableFile> CacheDirectory::open(const std::string& name) const {
  if (!usable()) return nullptr;
  try {
    auto file = std::make_unique<ReadableFile>(descriptor_, name, path_of(name));
    return is_own(file->info()) ? std::move(file) : nullptr;
  } catch (const Error&) {  // there is none that can be read
    return nullptr;
  }
}

bool CacheDirectory::has(const std::string& name) const {
  struct stat info{};
  return usable() && ::fstatat(descriptor_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

// The directory may be read-only: then nothing is noted.
void CacheDirectory::note_use(const ReadableFile& file) {
  if (system_clock::now() - time_of(file.info().st_mtim) < use_noted_every) return;
  const struct timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
  ::futimens(file.descriptor(), now);
}

std::optional<std::string> CacheDirectory::read(const std::string& name) const {
  const std::unique_ptr<ReadableFile> file = open(name);
  if (!file) return std::nullopt;
  try {
    note_use(*file);
    return file->contents();
  } catch (const Error&) { return std::nullopt; }
}

std::string CacheDirectory::write(const std::string& name,
                                  std::initializer_list<std::span<const std::byte>> parts,
                                  Former former) const {
  if (!usable()) return problem_;
  const std::string unfinished = unfinished_name(name);
  int error = write_file(descriptor_, unfinished, parts);
  if (error == 0 && former == Former::Keep) {
    if (::linkat(descriptor_, unfinished.c_str(), descriptor_, name.c_str(), 0) != 0 &&
        errno != EEXIST)
      error = errno;
    ::unlinkat(descriptor_, unfinished.c_str(), 0);
  } else if (error == 0 &&
             ::renameat(descriptor_, unfinished.c_str(), descriptor_, name.c_str()) != 0) {
    error = errno;
    ::unlinkat(descriptor_, unfinished.c_str(), 0);
  }
  return error == 0 ? std::string()
                    : fmt::format("cannot write '{}' ({})", path_of(name), reason(error));
}

std::string CacheDirectory::write(const std::string& name, std::string_view text) const {
  return write(name, {std::as_bytes(std::span(text))});
}

std::string CacheDirectory::remove(const std::string& name) const {
  if (!usable() || ::unlinkat(descriptor_, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return fmt::format("{}: cannot be removed: {}", path_of(name), reason(errno));
}

std::optional<CacheKey> CacheDirectory::existing_key() const {
  const std::unique_ptr<ReadableFile> file = open(key_name);
  CacheKey key;
  if (!file || (file->info().st_mode & 077) != 0 || file->size() != key.size()) return std::nullopt;
  try {
    const std::string bytes = file->contents();
    std::memcpy(key.data(), bytes.data(), key.size());
    return key;
  } catch (const Error&) { return std::nullopt; }
}

std::string CacheDirectory::key_problem() const {
  return usable() ? fmt::format("'{}' can neither be read nor written", path_of(key_name))
                  : problem_;
}

// Where several processes make one at once, all keep the first one's. What is no key is replaced.
std::optional<CacheKey> CacheDirectory::key() const {
  if (!usable()) return std::nullopt;
  for (const Former former : {Former::Keep, Former::Replace}) {
    if (const std::optional<CacheKey> found = existing_key()) return found;
    CacheKey made;
    if (::getrandom(made.data(), made.size(), 0) != static_cast<ssize_t>(made.size()))
      return std::nullopt;
    write(key_name, {std::as_bytes(std::span(made))}, former);
  }
  return existing_key();
}

std::vector<CacheFile> CacheDirectory::files() const {
  std::vector<CacheFile> found;
  // Closing the stream closes its descriptor, and its position is that of the open file.
  const int descriptor =
      usable() ? ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  DIR* const stream = descriptor >= 0 ? ::fdopendir(descriptor) : nullptr;
  if (stream == nullptr) {
    if (descriptor >= 0) ::close(descriptor);
    return found;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> closed(stream, ::closedir);
  while (const dirent* const entry = ::readdir(stream)) {
    const std::optional<CacheKind> kind = cache_kind(entry->d_name);
    struct stat info{};
    if (!kind || ::fstatat(descriptor, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISDIR(info.st_mode)) {
      continue;
    }
    found.push_back(
        {entry->d_name, *kind, static_cast<std::uint64_t>(info.st_size), time_of(info.st_mtim)});
  }
  std::ranges::sort(found, {}, &CacheFile::name);
  return found;
}

void CacheDirectory::make_room(CacheKind kind, std::uint64_t budget_bytes, std::uint64_t coming,
                               std::string_view except) const {
  std::vector<CacheFile> all = files();
  std::ranges::sort(all, {}, &CacheFile::used);
  std::uint64_t sum = coming;
  for (const CacheFile& file : all)
    sum += file.kind == kind && file.name != except ? file.bytes : 0;
  const system_clock::time_point now = system_clock::now();
  for (const CacheFile& file : all) {
    if (file.kind == CacheKind::Key || file.name == except) continue;
    const bool old =
        now - file.used > (file.kind == CacheKind::Unfinished ? abandoned_after : unused_after);
    const bool over = file.kind == kind && sum > budget_bytes;
    if ((old || over) && remove(file.name).empty() && file.kind == kind) sum -= file.bytes;
  }
}

}  // namespace dyn
