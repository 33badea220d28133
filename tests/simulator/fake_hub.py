"""A local stand-in for the Hub's endpoints that a push uses: repositories, preupload, LFS, commits, trees, files, tags."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hub:
    """State of the fake: files by repository, tags, requests, and an optional failure."""

    def __init__(self) -> None:
        self.repos: dict[str, dict[str, bytes]] = {}
        self.objects: dict[str, bytes] = {}
        self.tags: dict[str, list[str]] = {}
        self.uploads = 0
        self.commits = 0
        self.fail_after_commits: int | None = None
        self.token = "right-token"
        self.url = ""


def handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def answer(self, data: object, code: int = 200, **headers: str) -> None:
            raw = data if isinstance(data, bytes) else json.dumps(data).encode()
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(raw)

        def body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def allowed(self) -> bool:
            return self.headers.get("Authorization") == f"Bearer {hub.token}"

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path.split("?")[0]
            if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/main/?", path):
                if match.group(1) not in hub.repos:
                    return self.answer({"error": "Repository not found"}, 404, X_Error_Code="RepoNotFound")
                return self.answer([self.entry(name, raw) for name, raw in hub.repos[match.group(1)].items()])
            if match := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
                raw = hub.repos.get(match.group(1), {}).get(match.group(2))
                if raw is None:
                    return self.answer({"error": "Entry not found"}, 404, X_Error_Code="EntryNotFound")
                return self.answer(raw, ETag=f'"{hashlib.sha1(raw).hexdigest()}"', X_Repo_Commit="0" * 40)
            return self.answer({"error": path}, 404)

        def entry(self, name: str, raw: bytes) -> dict[str, object]:
            out: dict[str, object] = {"type": "file", "path": name, "size": len(raw)}
            out["oid"] = hashlib.sha1(b"blob %d\0" % len(raw) + raw).hexdigest()
            if name.endswith(".parquet"):
                out["lfs"] = {"oid": hashlib.sha256(raw).hexdigest(), "size": len(raw), "pointerSize": 130}
            return out

        def do_PUT(self) -> None:
            hub.uploads += 1
            hub.objects[self.path.rsplit("/", 1)[1]] = self.body()
            self.answer({})

        def do_POST(self) -> None:
            raw = self.body()
            if not self.allowed():
                return self.answer({"error": "Invalid username or password."}, 401)
            if self.path == "/api/validate-yaml":
                return self.answer({"errors": [], "warnings": []})
            if self.path == "/api/repos/create":
                data = json.loads(raw)
                name = f"{data.get('organization') or 'someone'}/{data['name']}"
                hub.repos.setdefault(name, {})
                return self.answer({"url": f"{hub.url}/datasets/{name}"})
            if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/preupload/main.*", self.path):
                files = [
                    {"path": f["path"], "uploadMode": "lfs" if f["path"].endswith(".parquet") else "regular", "shouldIgnore": False}
                    for f in json.loads(raw)["files"]
                ]
                return self.answer({"files": files})
            if self.path.endswith(".git/info/lfs/objects/batch"):
                objects = [
                    {"oid": o["oid"], "size": o["size"], "actions": {"upload": {"href": f"{hub.url}/lfs/{o['oid']}"}}}
                    for o in json.loads(raw)["objects"]
                ]
                return self.answer({"transfer": "basic", "objects": objects}, Content_Type="application/vnd.git-lfs+json")
            if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/commit/main.*", self.path):
                return self.commit(match.group(1), raw)
            if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tag/main", self.path):
                tags, tag = hub.tags.setdefault(match.group(1), []), json.loads(raw)["tag"]
                if tag in tags:
                    return self.answer({"error": "Tag exists"}, 409)
                tags.append(tag)
                return self.answer({})
            return self.answer({"error": self.path}, 404)

        def commit(self, repo: str, raw: bytes) -> None:
            if hub.fail_after_commits is not None and hub.commits >= hub.fail_after_commits:
                return self.answer({"error": "broken"}, 500)
            files = hub.repos[repo]
            for line in raw.splitlines():
                item = json.loads(line)
                value = item["value"]
                if item["key"] == "file":
                    files[value["path"]] = b64decode(value["content"])
                elif item["key"] == "lfsFile":
                    files[value["path"]] = hub.objects[value["oid"]]
                elif item["key"] == "deletedFile":
                    files.pop(value["path"], None)
            hub.commits += 1
            url = f"{hub.url}/datasets/{repo}/commit/{'1' * 40}"
            self.answer({"success": True, "commitOid": "1" * 40, "commitUrl": url, "hookOutput": ""})

    return Handler


@contextmanager
def fake_hub() -> Iterator[Hub]:
    """Run the fake on loopback and yield its state."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(hub))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
