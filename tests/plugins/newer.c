/* A plug-in of the next major version. */

#include "dyn/plugin.h"

static const dyn_plugin plugin = {sizeof(dyn_plugin), (DYN_PLUGIN_MAJOR + 1) << 16, 0, NULL};

const dyn_plugin* dyn_plugin_get(void) { return &plugin; }
