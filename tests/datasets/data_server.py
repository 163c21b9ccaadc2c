"""A small web server that can do what real ones do wrong."""

import http.server
import threading
from dataclasses import dataclass, field


@dataclass
class Site:
    """What is served, and how badly.

    files : path -> bytes.  break_after : bytes after which the connection ends, once per entry.
    kind : Content-Type.  length : what Content-Length says instead of the truth; "" for nothing.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    break_after: list[int] = field(default_factory=list)
    kind: str = "application/octet-stream"
    length: str | None = None
    requests: list[str] = field(default_factory=list)
    url: str = ""


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        site = self.server.site
        site.requests.append(self.path)
        body = site.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", site.kind)
        length = str(len(body)) if site.length is None else site.length
        if length:
            self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(body[: site.break_after.pop(0)] if site.break_after else body)

    def log_message(self, *_):
        pass


def serve(site):
    """Start serving; returns the server, whose `shutdown` ends it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.site = site
    site.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server
