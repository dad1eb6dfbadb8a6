/*
 * OpenBLAS without memory must not decide how the kernel ends. 0.3.29 (Debian 13) hangs as
 * soon as it is loaded, before main; 0.3.34 exits with 1, which from a kernel means a wrong
 * result. Only the program's own preinit functions run before its libraries are made
 * ready, and its own exit() is what they find before libc's.
 */
#include <stdlib.h>
#include <unistd.h>

#include "common/kernel.h"

static void watch(void)
{
	kernel_watch(kernel.seconds);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = watch;

/* Only what libraries call: main's return does not come here. */
void exit(int code)
{
	_exit(kernel_fail("OpenBLAS has ended the process, with exit code %d", code));
}
