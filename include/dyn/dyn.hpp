#pragma once
// Everything that an embedder needs but for dyn/functions.hpp: its many names are for programs that
// build models.

#include "dyn/allocator.hpp"
#include "dyn/async_run.hpp"
#include "dyn/builder.hpp"
#include "dyn/control.hpp"
#include "dyn/device.hpp"
#include "dyn/dim.hpp"
#include "dyn/dtype.hpp"
#include "dyn/error.hpp"
#include "dyn/executor.hpp"
#include "dyn/export.hpp"
#include "dyn/graph.hpp"
#include "dyn/info.hpp"
#include "dyn/operator.hpp"
#include "dyn/operator_set.hpp"
#include "dyn/options.hpp"
#include "dyn/reader.hpp"
#include "dyn/session.hpp"
#include "dyn/tensor.hpp"
#include "dyn/texts.hpp"
#include "dyn/version.hpp"
