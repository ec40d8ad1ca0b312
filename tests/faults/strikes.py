"""Kill this process at one of its writes, counted by kind.

A process is killed before a statement that it sends to a database, in the middle of a write of SQLite itself, or at a
change to a file: before it is opened for writing, renamed or removed, and in the middle of a write to it.
"""

import _sqlite3
import builtins
import ctypes
import io
import os
import signal
import sqlite3
import sys
from itertools import count
from pathlib import Path

CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")
"""Events of the interpreter that change a folder or a file; "open" is one if it is for writing."""

SET_CALL, GET_CALL = 13, 14
"""Places of `xSetSystemCall` and `xGetSystemCall` among the methods of SQLite's file system."""


class FileSystem(ctypes.Structure):
    """SQLite's `sqlite3_vfs`, whose system calls can be replaced."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("methods", ctypes.c_void_p * 16),
    )


GET = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
WRITE = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
WRITE_AT = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)
TRUNCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64)
UNLINK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
CALLS = {b"write": WRITE, b"pwrite": WRITE_AT, b"pwrite64": WRITE_AT, b"ftruncate": TRUNCATE, b"unlink": UNLINK}
"""System calls by which SQLite writes; some builds lack one or another."""

_kept: list[object] = []
"""What SQLite calls must not be collected as garbage."""


def strike(kind, number, folder):
    """Kill this process at its event of that kind and number, counted from now on; of files, those in a folder."""
    numbers = count(1)
    KINDS[kind](lambda: next(numbers) == number, Path(folder).resolve())


def _kill():
    os.kill(os.getpid(), signal.SIGKILL)


def _before_statements(is_due, folder):
    connect = sqlite3.connect

    def connected(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.set_trace_callback(lambda statement: _kill() if is_due() else None)
        return connection

    sqlite3.connect = connected


def _in_pages(is_due, folder):
    library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    if not hasattr(library, "sqlite3_vfs_find"):  # SQLite is part of the interpreter, which hides it
        return
    library.sqlite3_vfs_find.restype = ctypes.POINTER(FileSystem)
    pointer = library.sqlite3_vfs_find(None)
    get, put = GET(pointer.contents.methods[GET_CALL]), SET(pointer.contents.methods[SET_CALL])
    for name, form in CALLS.items():
        if address := get(pointer, name):
            replaced = form(_torn(form(address), is_due, has_size=form in (WRITE, WRITE_AT)))
            _kept.append(replaced)
            put(pointer, name, ctypes.cast(replaced, ctypes.c_void_p))


def _torn(call, is_due, has_size):
    """A system call that kills; after half of what it should write, if it writes."""

    def called(*arguments):
        if is_due():
            if has_size:
                file, content, size, *place = arguments
                call(file, content, size // 2, *place)
            _kill()
        return call(*arguments)

    return called


def _in_files(is_due, folder):
    def is_inside(path):
        is_named = isinstance(path, str | bytes | os.PathLike)
        return is_named and Path(os.path.abspath(os.fsdecode(path))).is_relative_to(folder)

    def audit(event, arguments):
        if event == "open":
            path, _, flags = arguments
            is_change = bool(flags & (os.O_WRONLY | os.O_RDWR))
        else:
            path, is_change = arguments[0] if arguments else None, event in CHANGES
        if is_change and is_inside(path) and is_due():
            _kill()

    class Torn(io.FileIO):
        def write(self, content):
            if is_due():
                super().write(memoryview(content)[: len(content) // 2])
                _kill()
            return super().write(content)

    _open_as(Torn, is_inside)
    sys.addaudithook(audit)


def _open_as(raw, is_inside):
    """Have files in the folder that are opened for writing be of a class."""
    plain = io.open

    def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, **options):
        if not is_inside(file) or not set(mode) & set("wax+"):
            return plain(file, mode, buffering, encoding, errors, newline, **options)
        bare = raw(file, mode.replace("b", "").replace("t", ""), **options)
        if buffering == 0:
            return bare
        buffered = (io.BufferedRandom if "+" in mode else io.BufferedWriter)(bare)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

    io.open = builtins.open = opened


KINDS = {"statement": _before_statements, "page": _in_pages, "file": _in_files}
