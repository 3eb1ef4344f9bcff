#include "tests/avx512/illegal_instruction.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "tests/avx512/refused_vsib.hpp"

namespace dyn::avx512_check {
namespace {

volatile sig_atomic_t carried_out = 0;

void handle(int, siginfo_t* signal, void* context) {
  if (execute_refused_vsib(*static_cast<ucontext_t*>(context))) {
    carried_out = carried_out + 1;
    return;
  }
  constexpr int shown_bytes = 12;
  const auto* code = static_cast<const unsigned char*>(signal->si_addr);
  char text[128];
  int length = std::snprintf(text, sizeof text, "failed cpu: illegal instruction");
  for (int i = 0; i < shown_bytes; ++i)
    length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), " %02x",
                            code[i]);
  text[length++] = '\n';
  _exit(write(STDOUT_FILENO, text, static_cast<std::size_t>(length)) == length ? 1 : 3);
}

}  // namespace

void handle_illegal_instructions() {
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, nullptr);
}

int instructions_carried_out() { return carried_out; }

}  // namespace dyn::avx512_check
