/* A plug-in with an operator that has no name. */

#include "dyn/plugin.h"

static const dyn_plugin_operator nameless = {
    .struct_size = sizeof(dyn_plugin_operator), .output_count = 1, .domain = "own"};
static const dyn_plugin_operator* const operators[] = {&nameless};
static const dyn_plugin plugin = {sizeof(dyn_plugin), DYN_PLUGIN_VERSION, 1, operators};

const dyn_plugin* dyn_plugin_get(void) { return &plugin; }
