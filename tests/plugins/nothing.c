/* A plug-in that gives nothing. */

#include "dyn/plugin.h"

const dyn_plugin* dyn_plugin_get(void) { return NULL; }
