#!/usr/bin/env python3
"""Runs a command on a terminal of its own and prints what it wrote there.

on_terminal.py COLUMNS ROWS [--when TEXT DO] COMMAND...
Once TEXT was written: DO is "ctrl-c", typed, or a signal's number, sent to the command.
Exit status: the command's; 128 + n where a signal ended it.
"""
import fcntl
import os
import pty
import struct
import sys
import termios


def main():
    columns, rows, args = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    text, do = None, None
    if args[0] == "--when":
        text, do, args = args[1].encode(), args[2], args[3:]
    ready, go = os.pipe()
    pid, fd = pty.fork()
    if pid == 0:
        os.close(go)
        os.read(ready, 1)  # until the terminal has its size
        os.execvp(args[0], args)
    os.close(ready)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.close(go)
    out = b""
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:  # its last process has closed it
            break
        if not data:
            break
        out += data
        if text is not None and text in out:
            text = None
            if do == "ctrl-c":
                os.write(fd, b"\x03")
            else:
                os.kill(pid, int(do))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.stdout.buffer.write(out.replace(b"\r\n", b"\n"))
    return status if status >= 0 else 128 - status


sys.exit(main())
