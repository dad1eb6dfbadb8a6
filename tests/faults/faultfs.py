#!/usr/bin/python3
"""A file system over a directory whose calls fail, or are slow, or never answer.

  faultfs.py eio|slow|hang DIR MOUNTPOINT

eio: whatever opens, reads, writes or syncs a file gets EIO. slow: each of them takes 0.3 s.
hang: a write takes for ever. It stays in the foreground.
"""

import errno
import os
import sys
import time

from fusepy import FUSE, FuseOSError, Operations

TOUCHING = ("create", "open", "read", "write", "fsync", "unlink", "rename", "truncate", "mkdir")


class Faulty(Operations):
    def __init__(self, how, real):
        self.how, self.real = how, real

    def __call__(self, op, path, *args):
        if self.how == "eio" and op in TOUCHING:
            raise FuseOSError(errno.EIO)
        if self.how == "slow" and op in TOUCHING:
            time.sleep(0.3)
        if self.how == "hang" and op in ("write", "fsync", "create"):
            while True:
                time.sleep(60)
        return super().__call__(op, path, *args)

    def at(self, path):
        return self.real + path

    def access(self, path, mode):
        return 0

    def getattr(self, path, fh=None):
        st = os.lstat(self.at(path))
        return {k: getattr(st, k) for k in ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size",
                                            "st_uid", "st_ino", "st_blocks")}

    def readdir(self, path, fh):
        return [".", ".."] + os.listdir(self.at(path))

    def mkdir(self, path, mode):
        return os.mkdir(self.at(path), mode)

    def rmdir(self, path):
        return os.rmdir(self.at(path))

    def unlink(self, path):
        return os.unlink(self.at(path))

    def rename(self, old, new):
        return os.rename(self.at(old), self.at(new))

    def chmod(self, path, mode):
        return os.chmod(self.at(path), mode)

    def chown(self, path, uid, gid):
        return os.chown(self.at(path), uid, gid)

    def utimens(self, path, times=None):
        return os.utime(self.at(path), times)

    def create(self, path, mode, fi=None):
        return os.open(self.at(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def open(self, path, flags):
        return os.open(self.at(path), flags)

    def read(self, path, size, offset, fh):
        return os.pread(fh, size, offset)

    def write(self, path, data, offset, fh):
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        return os.truncate(self.at(path), length)

    def flush(self, path, fh):
        return 0

    def fsync(self, path, datasync, fh):
        return os.fsync(fh)

    def release(self, path, fh):
        return os.close(fh)

    def statfs(self, path):
        s = os.statvfs(self.real)
        return {k: getattr(s, k) for k in ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_files", "f_ffree", "f_frsize",
                                           "f_namemax")}


if __name__ == "__main__":
    FUSE(Faulty(sys.argv[1], os.path.abspath(sys.argv[2])), sys.argv[3], foreground=True, nothreads=False,
         allow_other=True, nonempty=True)
