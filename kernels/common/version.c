#include "version.h"

/* Nothing else sees the macro: a new version is one object and the links. */
const char syscheck_version[] = SYSCHECK_VERSION;
