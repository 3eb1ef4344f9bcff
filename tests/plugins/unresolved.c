/* A plug-in that needs a function which nobody has. */

#include "dyn/plugin.h"

extern const dyn_plugin* made_elsewhere(void);

const dyn_plugin* dyn_plugin_get(void) { return made_elsewhere(); }
