// doctest's own code, for every program that has tests or their support.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
