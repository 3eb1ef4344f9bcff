// dyn-peer runs another library behind the line protocol of docs/peers.md. It is no part of dyn:
// programs that are compared must not share code.

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "src/peer/backend.hpp"
#include "src/peer/timing.hpp"

namespace {

using dyn::peer::Malformed;
using dyn::peer::Unsupported;

constexpr int protocol_version = 1;

class Service {
 public:
  explicit Service(std::string library) : library_(std::move(library)) {}

  std::string answer(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string word = line.substr(0, space),
                      rest = space == std::string::npos ? "" : line.substr(space + 1);
    try {
      if (word == "hello") return hello(rest);
      if (word == "problem") return problem(rest);
      if (word == "time") return time(rest);
      if (word == "done") return runner_ = nullptr, "ok";
    } catch (const Unsupported& error) {
      return fmt::format("no {}", error.what());
    } catch (const std::exception& error) { return fmt::format("error {}", error.what()); }
    return fmt::format("error unknown request \"{}\"", word);
  }

 private:
  std::string hello(const std::string& rest) {
    int version = 0, threads = 0;
    if (std::sscanf(rest.c_str(), "%d threads=%d", &version, &threads) != 2 || threads < 1)
      throw Malformed("expected hello VERSION threads=N");
    if (version != protocol_version)
      throw Malformed(fmt::format("speaks version {} of the protocol", protocol_version));
    backend_ = dyn::peer::open_backend(library_, threads);
    return fmt::format("ok {}", backend_->version());
  }

  std::string problem(const std::string& rest) {
    if (backend_ == nullptr) throw Malformed("hello comes first");
    runner_ = nullptr;
    runner_ = backend_->prepare(dyn::peer::parse_problem(rest));
    return "ok";
  }

  std::string time(const std::string& rest) {
    if (runner_ == nullptr) throw Malformed("there is no problem to time");
    const dyn::peer::SliceResult result =
        dyn::peer::time_slice(std::stod(rest), [this] { runner_->run(); });
    return fmt::format("ok {:.9g} {}", result.median_seconds, result.iterations);
  }

  std::string library_;
  std::unique_ptr<dyn::peer::Backend> backend_;
  std::unique_ptr<dyn::peer::Runner> runner_;
};

/// Answers go to a copy of stdout; what libraries print themselves goes to stderr.
std::FILE* own_stdout() {
  std::FILE* answers = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return answers;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "dyn-peer: times another library for dynrun op. Reads requests of the line protocol "
      "(docs/peers.md) from stdin, answers on stdout."};
  std::string library;
  app.add_option("library", library, "onednn, openblas, blis, mkl, or a file of one of them")
      ->required();
  CLI11_PARSE(app, argc, argv);
  std::FILE* answers = own_stdout();
  if (answers == nullptr) return 1;
  Service service(library);
  for (std::string line; std::getline(std::cin, line);) {
    fmt::print(answers, "{}\n", service.answer(line));
    if (std::fflush(answers) != 0) return 1;
  }
  return 0;
}
