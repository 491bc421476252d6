#!/usr/bin/env python3
"""Serves the page from the sources, and passes everything else on to a viewer, so that a change is seen with a reload.

    Tests/Browser/serve.py --viewer http://127.0.0.1:5581 --port 8080
"""

import argparse
import gzip
import http.client
import http.server
import mimetypes
import pathlib
import re
import urllib.parse

PAGE = pathlib.Path(__file__).resolve().parents[2] / "Sources/CViewerPage/page"
# Addresses have no folders.
FILES = {path.name: path for path in PAGE.rglob("*.*")}
# As the viewer has it (ViewerRoutes.swift).
POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
# Addresses that are answered with index.html.
PLACES = re.compile(r"/(live|calendar|health|account|sessions(/[^/]+)?)/?")
# What belongs to one connection, and not to the message (RFC 9110 §7.6.1).
OF_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "host", "origin"}
PIECE = 1 << 16

mimetypes.add_type("text/javascript", ".js")


def document(path):
    """index.html with the modules of a place named, as the viewer does it (PageDocument.swift)."""
    parts = [part for part in path.split("/") if part]
    place = "playback" if len(parts) > 1 else (parts or ["live"])[0]
    names = ["main.js", f"{place}.js"]
    for name in names:
        text = FILES[name].read_text()
        names += [other for other in re.findall(r"^(?:import .*|})\s*from '\./([^']+)'", text, re.M) if other not in names]
    links = "".join(f'<link rel="modulepreload" href="/page/{name}">\n' for name in names)
    text = FILES["index.html"].read_text()
    return text.replace('<script type="module"', links + '<script type="module"').encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    viewer: urllib.parse.SplitResult

    def log_message(self, *_):
        pass

    def handle_request(self):
        path = self.path.split("?")[0]
        if path == "/":
            self.answer(302, b"", location="/live")
        elif PLACES.fullmatch(path):
            self.answer(200, document(path), content_type="text/html; charset=utf-8", content_security_policy=POLICY)
        elif path.startswith("/page/"):
            self.file(path[len("/page/") :])
        else:
            self.pass_on()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_request

    def file(self, name):
        file = FILES.get(name)
        if not file:
            return self.answer(404, f"no file {name}\n".encode())
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        self.answer(200, file.read_bytes(), content_type=kind, content_security_policy=POLICY)

    def answer(self, status, body, **fields):
        if status == 200 and "gzip" in self.headers.get("accept-encoding", ""):
            body = gzip.compress(body, 9)
            fields["content_encoding"] = "gzip"
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("cache-control", "no-store")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def pass_on(self):
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(length) if length else None
        fields = {name: value for name, value in self.headers.items() if name.lower() not in OF_CONNECTION}
        fields["host"] = self.viewer.netloc
        if self.headers.get("origin"):
            fields["origin"] = f"{self.viewer.scheme}://{self.viewer.netloc}"
        connection = http.client.HTTPConnection(self.viewer.hostname, self.viewer.port)
        try:
            connection.request(self.command, self.path, body, fields)
            self.pass_back(connection.getresponse())
        except ConnectionRefusedError:
            self.answer(502, b"the viewer does not answer\n", content_type="text/plain")
        except OSError:
            # The browser has gone, or the viewer has in the middle: nothing more can be said on this connection.
            self.close_connection = True
        finally:
            connection.close()

    def pass_back(self, response):
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in OF_CONNECTION:
                self.send_header(name, value)
        has_length = response.getheader("content-length") is not None or response.status in (204, 304)
        if not has_length:
            # Without a length it ends with the connection.
            self.send_header("connection", "close")
            self.close_connection = True
        self.end_headers()
        while self.command != "HEAD" and (piece := response.read1(PIECE)):
            self.wfile.write(piece)
            self.wfile.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewer", required=True, help="such as http://127.0.0.1:5581")
    parser.add_argument("--port", type=int, default=8080)
    arguments = parser.parse_args()
    Handler.viewer = urllib.parse.urlsplit(arguments.viewer)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}/live", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
