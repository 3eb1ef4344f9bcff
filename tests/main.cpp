// The main of all test programs.

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "src/runtime/run/helpers.hpp"

int main(int argc, char** argv) {
  const int result = doctest::Context(argc, argv).run();
  // Helpers that are still starting hold memory, which a leak checker would report.
  constexpr std::chrono::milliseconds step(1), longest(60000);
  for (std::chrono::milliseconds waited(0);
       waited < longest && !dyn::runtime::Helpers::all_have_gone(); waited += step)
    std::this_thread::sleep_for(step);
  return result;
}
