"""Helper for Python programs that run under `spate run --resident`.

    from spate_resident import Task, serve

    def work(task: Task) -> None:
        print(task.text.upper())

    serve(work)

The function prints the output of its task. It fails the task by an exception, whose traceback goes to the task's
stderr, by `sys.exit(3)`, or by a status other than 0 that it returns. The process then continues with the next task.

This file needs Python 3.8 and nothing else. Copy it next to your program, or name its folder in PYTHONPATH.
"""
from __future__ import annotations

import io
import os
import sys
import traceback
from dataclasses import dataclass
from typing import BinaryIO, Callable, List, Optional, TextIO, Tuple

__all__ = ["Task", "serve"]


@dataclass(frozen=True)
class Task:
    """One task, as Spate passes it."""

    id: str  # JOB.TASK, as SPATE_TASK_ID of ordinary tasks
    index: int  # its number in the job, from 1
    attempt: int  # from 1
    input: bytes  # its values, joined by tabs, or its line of a list

    @property
    def text(self) -> str:
        """The input, with bytes that are no UTF-8 as in names of files."""
        return os.fsdecode(self.input)

    @property
    def values(self) -> List[str]:
        return self.text.split("\t")


def serve(function: Callable[[Task], Optional[int]]) -> None:
    """Calls `function` for each task, until there are no more tasks.

    sys.stdout and sys.stderr are flushed before the answer, and so are the streams of libraries in C. Threads and
    processes that the function leaves running must not print after it has returned: that output belongs to no task.
    """
    tasks, answers = _open_pipes()
    process = os.getpid()
    streams = sys.stdout, sys.stderr
    own = _line_buffered(1, streams[0]), _line_buffered(2, streams[1])
    try:
        while True:
            task = _read(tasks)
            if task is None:
                return
            sys.stdout, sys.stderr = own
            status = _run(function, task)
            _flush(sys.stdout, sys.stderr, *own, *streams)
            if os.getpid() != process:
                os._exit(status)  # a fork that the function made and did not end
            answers.write(f"done {task.id} {status} 0\n".encode())
            answers.flush()
    finally:
        sys.stdout, sys.stderr = streams


def _open_pipes() -> Tuple[BinaryIO, BinaryIO]:
    try:
        descriptors = [int(os.environ.pop(name)) for name in ("SPATE_RESIDENT_IN", "SPATE_RESIDENT_OUT")]
    except KeyError as missing:
        sys.exit(f"{sys.argv[0]}: {missing} is not set. Start this program with `spate run --resident -- COMMAND`.")
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)  # programs that a task starts must not hold the pipes open
    return os.fdopen(descriptors[0], "rb"), os.fdopen(descriptors[1], "wb")


def _line_buffered(descriptor: int, like: TextIO) -> TextIO:
    """A stream that loses at most a part of a line in a crash, with fewer writes than an unbuffered one."""
    return io.TextIOWrapper(open(descriptor, "wb", closefd=False), encoding=like.encoding, errors=like.errors,
                            line_buffering=True)


def _read(tasks: BinaryIO) -> Optional[Task]:
    words = tasks.readline().split()
    if not words:
        return None
    if words[0] != b"task" or len(words) < 5:
        raise ValueError(f"not the header of a task: {words!r}")
    length = int(words[4])
    data = tasks.read(length)
    if len(data) < length:
        return None
    return Task(words[1].decode(), int(words[2]), int(words[3]), data)


def _run(function: Callable[[Task], Optional[int]], task: Task) -> int:
    os.environ.update(SPATE_TASK_ID=task.id, SPATE_TASK_INDEX=str(task.index), SPATE_ATTEMPT=str(task.attempt))
    try:
        return _status(function(task))
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return _status(int(end.code or 0))
        print(end.code, file=sys.stderr)
    except Exception as error:
        frames = error.__traceback__.tb_next if error.__traceback__ else None  # without this function
        traceback.print_exception(type(error), error, frames, file=sys.stderr)
    return 1


def _status(code: Optional[int]) -> int:
    if code is None:
        return 0
    if not isinstance(code, int) or isinstance(code, bool):
        raise TypeError(f"the function returned {code!r}; it must return an exit status or None")
    return code if 0 <= code <= 255 else 1


def _flush(*streams: TextIO) -> None:
    for stream in streams:
        if not stream.closed:
            stream.flush()
    if _fflush is not None:
        _fflush(None)


def _find_fflush() -> Optional[Callable[[None], int]]:
    try:
        import ctypes  # some builds of Python lack it

        found: Callable[[None], int] = ctypes.CDLL(None).fflush
        return found
    except (ImportError, OSError, AttributeError):
        return None


_fflush = _find_fflush()
