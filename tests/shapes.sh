#!/usr/bin/env bash
# The small encoder at all 8,192 shapes of B in 1..8 and S in 1..1024, in random order: finite, each the bits of one row alone, some beside the
# reference, no compilation, flat memory. Minutes.
#   tests/shapes.sh BUILD_DIR
set -euo pipefail
exec "$1/tests/test_kernels" --no-skip --test-suite=sweep --duration=true
