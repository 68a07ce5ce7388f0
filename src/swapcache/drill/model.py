"""A scripted model on the loopback interface, so that a real host runs without network or account.

Owns the dialects Anthropic Messages and OpenAI Chat Completions, as much of them as Claude Code and
OpenClaw need. Promises to log every
request body and to bind 127.0.0.1 only. Never forwards anything.
"""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]
Script = dict[str, list[list[Block]]]
"""A word of the newest prompt to the answers that its requests get, one after the other."""


def say(text: str) -> Block:
    """An answer in words."""
    return {"type": "text", "text": text}


def call(name: str, **given: Any) -> Block:
    """An answer that calls a tool."""
    return {"type": "tool_use", "name": name, "input": given}


@dataclass(frozen=True)
class Request:
    """A request as the model received it."""

    number: int
    body: dict[str, Any]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """(place, text) of every text in it: system, then user[0], assistant[1] and so on."""
        found = [("system", _flat(self.body.get("system")))]
        for index, message in enumerate(self.body.get("messages") or []):
            found.append((f"{message.get('role')}[{index}]", _flat(message.get("content"))))
        return found


def _flat(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            inner = block.get("text", block.get("content", block.get("input", "")))
            parts.append(inner if isinstance(inner, str) else json.dumps(inner))
    return "\n".join(parts)


@dataclass
class Model:
    """The server. Use as a context manager."""

    script: Script
    requests: list[Request] = field(default_factory=list)
    tokens: int = 1000
    """Size of a request as the model reports it; hosts compact when it is large."""

    def __enter__(self) -> "Model":
        model = self

        class Handler(_Handler):
            owner = model

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self._counts: dict[str, int] = {}
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Base address for ANTHROPIC_BASE_URL."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, body: dict[str, Any]) -> list[Block]:
        """The blocks for a request, by the newest prompt that the script knows."""
        request = Request(len(self.requests) + 1, body)
        self.requests.append(request)
        for _, text in reversed([t for t in request.texts if t[0].startswith("user")]):
            for word, turns in self.script.items():
                if word in text:
                    at = self._counts.get(word, 0)
                    self._counts[word] = at + 1
                    return turns[at] if at < len(turns) else [say("Done.")]
        return [say("OK")]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: Model

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._json({"data": [], "has_more": False})

    do_HEAD = do_GET

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._json({"input_tokens": 100})
        elif path.endswith("/messages"):
            blocks = self.owner.answer(body)
            for index, block in enumerate(blocks):
                if block["type"] == "tool_use":
                    block["id"] = f"toolu_{len(self.owner.requests):04d}_{index}"
            self._stream(blocks) if body.get("stream") else self._json(self._message(blocks))
        elif path.endswith("/chat/completions"):
            blocks = self.owner.answer(body)
            self._stream_chat(blocks) if body.get("stream") else self._json(self._chat(blocks))
        else:
            self._json({})

    def _chat(self, blocks: list[Block]) -> dict[str, Any]:
        calls = [
            {
                "index": index,
                "id": f"call_{len(self.owner.requests):04d}_{index}",
                "type": "function",
                "function": {"name": b["name"], "arguments": json.dumps(b["input"])},
            }
            for index, b in enumerate(b for b in blocks if b["type"] == "tool_use")
        ]
        text = "".join(b["text"] for b in blocks if b["type"] == "text")
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = calls
        finish = "tool_calls" if calls else "stop"
        return {
            "id": f"chat_{len(self.owner.requests):04d}",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": self.owner.tokens,
                "completion_tokens": 20,
                "total_tokens": self.owner.tokens + 20,
            },
        }

    def _stream_chat(self, blocks: list[Block]) -> None:
        whole = self._chat(blocks)
        choice = whole["choices"][0]
        head = {"role": "assistant", **choice["message"]}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        base = {k: whole[k] for k in ("id", "created", "model")}
        base["object"] = "chat.completion.chunk"
        parts = [
            {"choices": [{"index": 0, "delta": head, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
            {"choices": [], "usage": whole["usage"]},
        ]
        try:
            for part in parts:
                self.wfile.write(f"data: {json.dumps(base | part)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
        except (BrokenPipeError, ConnectionResetError):
            return  # the host was killed, which is what drills do

    def _json(self, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _message(self, blocks: list[Block]) -> dict[str, Any]:
        calls = any(b["type"] == "tool_use" for b in blocks)
        return {
            "id": f"msg_{len(self.owner.requests):04d}",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": blocks,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1000, "output_tokens": 20},
        }

    def _stream(self, blocks: list[Block]) -> None:
        whole = self._message(blocks)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            start = whole | {"content": [], "stop_reason": None}
            self._event("message_start", message=start)
            for index, block in enumerate(blocks):
                self._block(index, block)
            delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
            self._event("message_delta", delta=delta, usage=whole["usage"])
            self._event("message_stop")
        except (BrokenPipeError, ConnectionResetError):
            return  # the host was killed, which is what drills do

    def _block(self, index: int, block: Block) -> None:
        if block["type"] == "tool_use":
            empty = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        else:
            empty = block | {"text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        self._event("content_block_start", index=index, content_block=empty)
        self._event("content_block_delta", index=index, delta=delta)
        self._event("content_block_stop", index=index)

    def _event(self, name: str, **value: Any) -> None:
        data = json.dumps({"type": name, **value})
        self.wfile.write(f"event: {name}\ndata: {data}\n\n".encode())
        self.wfile.flush()
