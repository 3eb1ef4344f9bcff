#include "src/python/bindings/gil.hpp"

#include <unistd.h>

namespace dyn::python {

void wait_for_end_of_process() {
  for (;;) ::pause();
}

}  // namespace dyn::python
