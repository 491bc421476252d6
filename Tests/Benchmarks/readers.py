"""Readers of live streams: plain sockets that take what comes, so that they cost the machine little."""

import json
import selectors
import socket
import struct
import threading


class Readers:
    """Connections that one thread empties, unless they are to stall. `received` has the bytes of each."""

    def __init__(self, sockets, reads=True):
        self.sockets = list(sockets)
        self.received = [0] * len(self.sockets)
        self.ended = 0
        self.is_over = not reads
        self.thread = threading.Thread(target=self.drain, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        for connection in self.sockets:
            connection.close()

    def drain(self):
        buffer = bytearray(1 << 20)
        with selectors.DefaultSelector() as selector:
            for number, connection in enumerate(self.sockets):
                connection.setblocking(False)
                selector.register(connection, selectors.EVENT_READ, number)
            while not self.is_over:
                for key, _ in selector.select(0.1):
                    try:
                        count = key.fileobj.recv_into(buffer)
                    except BlockingIOError:
                        continue
                    except ConnectionError:
                        count = 0
                    self.received[key.data] += count
                    if not count:
                        self.ended += 1
                        selector.unregister(key.fileobj)

    def flaws(self, least_bytes):
        """Why what was measured does not count."""
        slow = sum(count < least_bytes for count in self.received)
        flaws = [f"{self.ended} readers were disconnected"] if self.ended else []
        return flaws + ([f"{slow} readers got too little"] if slow else [])


def http_reader(port, path):
    """A connection with a request for something that does not end."""
    connection = socket.create_connection(("127.0.0.1", port), 10)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    return connection


def live_reader(port, source):
    return http_reader(port, f"/api/v1/live?sources={source}")


def rtmp_reader(port, stream):
    """A connection on which an RTMP server plays a stream: handshake and three commands (RTMP 1.0 §5.2, §7.2)."""
    connection = socket.create_connection(("127.0.0.1", port), 10)
    connection.sendall(b"\x03" + bytes(1536))
    answer = b""
    while len(answer) < 1 + 2 * 1536:
        piece = connection.recv(4096)
        if not piece:
            raise RuntimeError("the RTMP server has hung up")
        answer += piece
    connection.sendall(answer[1:1537])
    connect = {"app": "live", "tcUrl": f"rtmp://127.0.0.1:{port}/live"}
    # The first stream of a connection is number 1 in every server: there is no need to wait for the answers.
    for number, words in [
        (0, ["connect", 1.0, connect]), (0, ["createStream", 2.0, None]), (1, ["play", 0.0, None, stream]),
    ]:
        connection.sendall(rtmp_command(number, words))
    return connection


def rtmp_command(stream, words):
    """A command in one chunk (RTMP 1.0 §5.3.1), which has at most 128 bytes."""
    body = b"".join(amf(word) for word in words)
    assert len(body) <= 128, "a command that needs several chunks"
    return b"\x03" + bytes(3) + len(body).to_bytes(3, "big") + b"\x14" + struct.pack("<I", stream) + body


def amf(value):
    """A value in AMF0."""
    if value is None:
        return b"\x05"
    if isinstance(value, float):
        return b"\x00" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"\x02" + amf_name(value)
    return b"\x03" + b"".join(amf_name(name) + amf(word) for name, word in value.items()) + b"\x00\x00\x09"


def amf_name(text):
    return struct.pack(">H", len(text)) + text.encode()


def frames(answer):
    """Headers of a live stream, each given when its frame is there as a whole. Takes an http.client.HTTPResponse."""
    while head := answer.read(8):
        header_bytes, body_bytes = struct.unpack(">II", head)
        header = json.loads(answer.read(header_bytes))
        answer.read(body_bytes)
        yield header
