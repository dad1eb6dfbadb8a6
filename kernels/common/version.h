/* The version of syscheck that this was built as. */
#ifndef SYSCHECK_VERSION_H
#define SYSCHECK_VERSION_H

extern const char syscheck_version[];

#endif
