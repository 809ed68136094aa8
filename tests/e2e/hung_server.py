"""A file system whose server stops answering, as one over a network may."""
import ctypes
import os
import select
import stat
import struct
import subprocess
import threading

LOOKUP, FORGET, GETATTR, SETATTR, UNLINK, OPEN, READ, WRITE, STATFS, RELEASE, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR = (
    1, 2, 3, 4, 10, 14, 15, 16, 17, 18, 25, 26, 27, 28, 29)
ACCESS, CREATE, BATCH_FORGET = 34, 35, 42
ENOENT, ENOSYS = 2, 38
ROOT = 1


class HungServer:
    """Mounted at `folder`, with `files` (name: bytes). From hang() on, or from the first request on for which
    `hangs(request, pid)` is true, whoever asks for anything in it waits, until end(). Requests are numbers as above.

    Without `flushes` the kernel does not ask it when a file is closed. Such a wait cannot be killed in FUSE."""

    def __init__(self, folder, files=None, hangs=None, flushes=False):
        self.folder = folder
        self.nodes = {ROOT: None}  # by number: the content, None: the folder
        self.names = {}
        for name, content in (files or {}).items():
            self.add(name, content)
        self.hangs = hangs or (lambda request, pid: False)
        self.flushes = flushes
        self.lock = threading.Lock()
        self.hung = False
        os.makedirs(folder)
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        libc = ctypes.CDLL(None, use_errno=True)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"hung", folder.encode(), b"fuse.hung", 0, options.encode()) != 0:
            os.close(self.fd)
            raise OSError(ctypes.get_errno(), "cannot mount")
        self.greet()
        self.stop_read, self.stop = os.pipe()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def add(self, name, content):
        self.names[name] = number = len(self.nodes) + 1
        self.nodes[number] = bytearray(content)
        return number

    def content(self, name):
        return bytes(self.nodes[self.names[name]])

    def hang(self):
        """It takes no further request: in FUSE one that was taken cannot be killed."""
        with self.lock:
            self.hung = True

    def end(self):
        """All who wait get an error."""
        os.write(self.stop, b"x")
        self.thread.join()
        subprocess.run(["umount", "-l", self.folder], check=False)
        for fd in (self.fd, self.stop_read, self.stop):
            os.close(fd)

    def greet(self):
        _, _, unique = struct.unpack_from("=IIQ", request := os.read(self.fd, 1 << 17))
        _, minor, readahead = struct.unpack_from("=III", request, 40)
        self.answer(unique, struct.pack("=IIIIHHIIHH7I", 7, min(minor, 31), readahead, 0, 0, 0, 1 << 16, 1, 0, 0,
                                        *[0] * 7))

    def answer(self, unique, body=b"", error=0):
        try:
            os.write(self.fd, struct.pack("=IiQ", 16 + len(body), -error, unique) + body)
        except OSError:  # whoever asked is gone
            pass

    def serve(self):
        while True:
            with self.lock:
                waited_for = [self.stop_read] if self.hung else [self.stop_read, self.fd]
            ready, _, _ = select.select(waited_for, [], [], 0.005)
            if self.stop_read in ready:
                return
            with self.lock:
                if self.fd not in ready or self.hung:
                    continue
                try:
                    request = os.read(self.fd, 1 << 17)
                except OSError:
                    continue
            _, opcode, unique, node, _, _, pid = struct.unpack_from("=IIQQIII", request)
            if self.hangs(opcode, pid):
                self.hang()
            elif opcode not in (FORGET, BATCH_FORGET):
                self.answer(unique, *self.reply(opcode, node, request[40:]))

    def attributes(self, node):
        content = self.nodes[node]
        mode = stat.S_IFDIR | 0o777 if content is None else stat.S_IFREG | 0o777
        size = len(content or b"")
        return struct.pack("=6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def entry(self, node):
        return struct.pack("=4Q2I", node, 0, 0, 0, 0, 0) + self.attributes(node)

    def reply(self, opcode, node, body):
        """Its bytes, and an errno."""
        opened = struct.pack("=QII", 0, 0, 0)
        name = body.rstrip(b"\0").decode(errors="replace")
        if opcode == LOOKUP:
            return (self.entry(self.names[name]), 0) if name in self.names else (b"", ENOENT)
        if opcode in (GETATTR, SETATTR):
            valid, _, _, size = struct.unpack_from("=IIQQ", body.ljust(24, b"\0"))
            if opcode == SETATTR and valid & 8:
                self.nodes[node] = self.nodes[node][:size].ljust(size, b"\0")
            return struct.pack("=QII", 0, 0, 0) + self.attributes(node), 0
        if opcode in (OPEN, OPENDIR):
            return opened, 0
        if opcode == CREATE:
            name = body[16:].rstrip(b"\0").decode()
            return self.entry(self.names.get(name) or self.add(name, b"")) + opened, 0
        if opcode == READ:
            _, offset, size = struct.unpack_from("=QQI", body)
            return bytes(self.nodes[node][offset:offset + size]), 0
        if opcode == WRITE:
            _, offset, size = struct.unpack_from("=QQI", body)
            content = self.nodes[node]
            content[offset:offset + size] = body[40:40 + size]
            return struct.pack("=II", size, 0), 0
        if opcode == UNLINK:
            return (b"", 0) if self.names.pop(name, None) else (b"", ENOENT)
        if opcode == STATFS:
            return struct.pack("=5Q10I", 1000, 1000, 1000, 1000, 1000, 4096, 255, 4096, *[0] * 7), 0
        if opcode in (RELEASE, RELEASEDIR, ACCESS, READDIR) or (opcode == FLUSH and self.flushes):
            return b"", 0
        return b"", ENOSYS


def hung_server(folder, **options):
    """None where this is not allowed."""
    try:
        return HungServer(folder, **options)
    except OSError as why:
        print(f"       (skipped: {why})")
        return None
