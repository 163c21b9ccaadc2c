"""A small web server that can do what real ones do wrong."""

import http.server
import threading
from dataclasses import dataclass, field


@dataclass
class Site:
    """What is served, and how badly.

    files : path -> bytes.  break_after : bytes after which the connection ends, once per entry.
    ranges : whether parts are served.  version : the ETag; "" for none.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    version: str = '"1"'
    break_after: list[int] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        site = self.server.site
        wanted = self.headers.get("Range", "")
        site.requests.append((self.path, wanted))
        data = site.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        start = 0
        fresh = self.headers.get("If-Range", site.version) == site.version
        if site.ranges and wanted and fresh:
            start = int(wanted.removeprefix("bytes=").partition("-")[0])
            if start >= len(data):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        body = data[start:]
        self.send_header("Content-Length", str(len(body)))
        if site.version:
            self.send_header("ETag", site.version)
        self.end_headers()
        if site.break_after:
            body = body[: site.break_after.pop(0)]
            self.close_connection = True
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(site):
    """Start serving; returns the server, whose `shutdown` ends it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.site = site
    site.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server
