"""An HTTP proxy in front of a store: it notes every request, and fails on demand as networks and stores do."""

import socket
import threading
import time

PIECE = 256 << 10
MAXIMUM_HEAD = 64 << 10

# What a store answers instead of doing what it was asked: status, code, message.
ANSWERS = {
    "error": ("500 Internal Server Error", "InternalError", "We encountered an internal error. Please try again."),
    "busy": ("503 Slow Down", "SlowDown", "Please reduce your request rate."),
    "full": ("507 Insufficient Storage", "QuotaExceeded", "The quota is exceeded."),
    "revoked": ("403 Forbidden", "InvalidAccessKeyId", "The key does not exist in our records."),
    "clock": ("403 Forbidden", "RequestTimeTooSkewed", "The difference of the clocks is too large."),
    "gone": ("404 Not Found", "NoSuchBucket", "The specified bucket does not exist"),
}
# What happens on the way: no answer at all; cut in the middle of what is sent; the answer is cut, or comes too late; a bit is flipped.
WAYS = ("away", "cut", "short", "late", "flipped")
FAULTS = (*ANSWERS, *WAYS)


class Closed(Exception):
    """The other end has gone."""


class Request:
    """A request, and its result."""

    def __init__(self, method, path, body_bytes, headers):
        self.method, self.path, self.body_bytes, self.headers = method, path, body_bytes, headers
        # Of the store, whether or not it arrived; None: it was not asked, or has not answered.
        self.status = None
        self.answer_bytes = 0
        self.fault = None


class Proxy:
    """Listens on a port of its own, and passes on to one of this machine's."""

    # Longer than any client waits for the first byte of an answer.
    LATE_SECONDS = 64

    def __init__(self, upstream):
        self.upstream = upstream
        self.lock = threading.Lock()
        self.requests = []
        self.fault, self.first = None, None
        self.stopping = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def fail(self, fault, first=None):
        """From now on every request has this fault; None: none has. `first` is called when one meets it, before anything comes of that."""
        assert fault is None or fault in FAULTS, fault
        with self.lock:
            self.fault, self.first = fault, first

    def noted(self):
        with self.lock:
            return list(self.requests)

    def forget(self):
        with self.lock:
            self.requests.clear()

    def stop(self):
        self.stopping.set()
        self.listener.close()

    def accept(self):
        while not self.stopping.is_set():
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            source = client.makefile("rb", PIECE)
            while not self.stopping.is_set() and self.exchange(client, source):
                pass
        except (OSError, Closed, ValueError):
            pass
        finally:
            client.close()

    def exchange(self, client, source):
        """One request and its answer. Whether the connection can be used again."""
        head, words, headers = read_head(source)
        method, path = words[0], words[1]
        length = int(headers.get("content-length", 0))
        request = Request(method, path, length, headers)
        with self.lock:
            # Where nothing is sent, there is no bit to flip.
            request.fault = fault = self.fault if length or self.fault != "flipped" else None
            if fault and self.first:
                self.first()
                self.first = None
            self.requests.append(request)
        if fault == "away":
            return False
        if headers.get("expect", "").lower() == "100-continue":
            client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            head = b"".join(line for line in head.splitlines(True) if not line.lower().startswith(b"expect:"))
        if fault in ANSWERS:
            pass_on(source, None, length)
            client.sendall(self.answer(request, *ANSWERS[fault]))
            return True
        with socket.create_connection(("127.0.0.1", self.upstream), timeout=300) as store:
            store.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            store.sendall(head)
            if fault == "cut":
                pass_on(source, store, length // 2)
                return False
            pass_on(source, store, length, flips=fault == "flipped")
            return self.bring_back(request, store, client, fault)

    def answer(self, request, status, code, message):
        body = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'
        sent = b"" if request.method == "HEAD" else body.encode()
        moment = time.gmtime(time.time() + (1_200 if code == "RequestTimeTooSkewed" else 0))
        return (f"HTTP/1.1 {status}\r\nDate: {time.strftime('%a, %d %b %Y %H:%M:%S GMT', moment)}\r\n"
                f"Content-Type: application/xml\r\nContent-Length: {len(sent)}\r\n\r\n").encode() + sent

    def bring_back(self, request, store, client, fault):
        answer = store.makefile("rb", PIECE)
        head, words, headers = read_head(answer)
        while words[1] == "100":
            head, words, headers = read_head(answer)
        request.status = int(words[1])
        has_body = request.method != "HEAD" and words[1] not in ("204", "304")
        if fault == "late":
            self.stopping.wait(self.LATE_SECONDS)
        if fault == "short":
            # Something of every answer is missing: of its body, or of its head.
            body = min(int(headers.get("content-length", 0)), MAXIMUM_HEAD) if has_body else 0
            client.sendall(head + answer.read(body // 2) if body else head[: len(head) // 2])
            return False
        client.sendall(head)
        if not has_body:
            return True
        if "content-length" in headers:
            request.answer_bytes = pass_on(answer, client, int(headers["content-length"]))
            return True
        if headers.get("transfer-encoding", "").lower() == "chunked":
            request.answer_bytes = pass_on_chunks(answer, client)
            return True
        while piece := answer.read1(PIECE):
            client.sendall(piece)
            request.answer_bytes += len(piece)
        return False


def read_head(source):
    """The bytes up to the empty line; the words of the first line; the fields by lower-case names."""
    lines = []
    size = 0
    while True:
        line = source.readline(MAXIMUM_HEAD)
        size += len(line)
        if not line or size > MAXIMUM_HEAD:
            raise Closed
        lines.append(line)
        if line in (b"\r\n", b"\n"):
            break
    fields = {}
    for line in lines[1:-1]:
        name, _, value = line.decode("latin-1").partition(":")
        fields[name.strip().lower()] = value.strip()
    return b"".join(lines), lines[0].decode("latin-1").split(None, 2), fields


def pass_on(source, sink, length, flips=False):
    """Passes on a number of bytes in pieces, with one bit changed in the last one, or discards them. Returns their number."""
    rest = length
    while rest:
        piece = source.read1(min(rest, PIECE))
        if not piece:
            raise Closed
        rest -= len(piece)
        if flips and not rest:
            piece = piece[:-1] + bytes([piece[-1] ^ 1])
        if sink:
            sink.sendall(piece)
    return length


def pass_on_chunks(source, sink):
    """Passes on a body in chunks (RFC 9112 §7.1). Returns the bytes of its content."""
    content = 0
    while True:
        line = source.readline(MAXIMUM_HEAD)
        if not line:
            raise Closed
        sink.sendall(line)
        size = int(line.split(b";")[0], 16)
        content += pass_on(source, sink, size)
        while not size:
            # Trailers, and the empty line.
            line = source.readline(MAXIMUM_HEAD)
            sink.sendall(line)
            if line in (b"\r\n", b""):
                return content
        sink.sendall(source.readline(MAXIMUM_HEAD))
