/*
 * A library without memory must not decide how the kernel ends: libnuma and OpenBLAS 0.3.34
 * exit with 1 as soon as they are loaded, which from a kernel means a wrong result; OpenBLAS
 * 0.3.29 (Debian 13) hangs there, before main. Only the program's own preinit functions run before its libraries are made
 * ready, and its own exit() is what they find before libc's.
 */
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "kernel.h"

double kernel_started;

/* On a slow node the libraries take a part of the time box, too. */
static void watch(void)
{
	kernel_started = clock_now();
	kernel_watch(kernel.seconds);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = watch;

/* Only what libraries call: main's return does not come here. */
void exit(int code)
{
	_exit(kernel_fail("a library has ended the process, with exit code %d", code));
}
