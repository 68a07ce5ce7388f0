"""Two more dialects for the drill's scripted model: OpenAI Responses and Google generateContent.

Only recorders use them, so they are no part of the package. Beside words and calls an answer may
hold a thought, a reported number of input tokens, or a failure.
"""

import json
from typing import Any

from swapcache.drill.model import Block, Model, _Handler


def think(text: str) -> Block:
    """What the model thinks before it answers."""
    return {"type": "thought", "text": text}


def report(tokens: int) -> Block:
    """The size of the request as the model reports it: what makes hosts compress."""
    return {"type": "tokens", "count": tokens}


def fail(status: int, words: str = "the model is not in the mood") -> Block:
    """No answer: an HTTP error."""
    return {"type": "failure", "status": status, "text": words}


class Dialects(Model):
    """The scripted model in all its dialects."""

    def __enter__(self) -> "Dialects":
        super().__enter__()
        self._server.RequestHandlerClass = type("Handler", (_More,), {"owner": self})
        return self


def _of(blocks: list[Block], kind: str) -> list[Block]:
    return [block for block in blocks if block["type"] == kind]


def _tokens(blocks: list[Block]) -> int:
    return next((int(b["count"]) for b in _of(blocks, "tokens")), 1000)


class _More(_Handler):
    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        chat = path.endswith("/chat/completions")
        if not (chat or path.endswith("/responses") or "enerateContent" in path):
            super().do_POST()
            return
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(raw)
        blocks = self.owner.answer({"messages": body.get("messages") or _messages(body)})
        failure = _of(blocks, "failure")
        try:
            if failure:
                self._fail(failure[0])
            elif path.endswith("/responses"):
                self._responses(blocks)
            elif chat:
                self._completions(body, blocks)
            else:
                self._contents(blocks, "stream" in path)
        except (BrokenPipeError, ConnectionResetError):
            return  # the host was killed, which is what recorders do

    def _fail(self, block: Block) -> None:
        data = json.dumps({"error": {"message": block["text"], "code": block["status"]}}).encode()
        self.send_response(block["status"])
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _completions(self, body: dict[str, Any], blocks: list[Block]) -> None:
        kept = [b for b in blocks if b["type"] in ("text", "tool_use")]
        self._stream_chat(kept) if body.get("stream") else self._json(self._chat(kept))

    def _open(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def _responses(self, blocks: list[Block]) -> None:
        number = len(self.owner.requests)
        items = [i for n, b in enumerate(blocks) if (i := _item(b, f"{number:04d}_{n}"))]
        tokens = _tokens(blocks)
        answer = {
            "id": f"resp_{number:04d}",
            "object": "response",
            "status": "completed",
            "model": "scripted",
            "output": items,
            "usage": {
                "input_tokens": tokens,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": tokens + 20,
            },
        }
        self._open()
        self._event("response.created", response=answer | {"status": "in_progress", "output": []})
        for at, item in enumerate(items):
            begun = item | {"status": "in_progress"}
            self._event("response.output_item.added", output_index=at, item=begun)
            self._event("response.output_item.done", output_index=at, item=item)
        self._event("response.completed", response=answer)

    def _contents(self, blocks: list[Block], stream: bool) -> None:
        parts: list[dict[str, Any]] = []
        for block in blocks:
            if block["type"] == "text":
                parts.append({"text": block["text"]})
            elif block["type"] == "thought":
                parts.append({"text": block["text"], "thought": True})
            elif block["type"] == "tool_use":
                parts.append({"functionCall": {"name": block["name"], "args": block["input"]}})
        tokens = _tokens(blocks)
        content = {"role": "model", "parts": parts}
        answer = {
            "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": tokens,
                "candidatesTokenCount": 20,
                "totalTokenCount": tokens + 20,
            },
            "modelVersion": "scripted",
        }
        if not stream:
            self._json(answer)
            return
        self._open()
        self.wfile.write(f"data: {json.dumps(answer)}\n\n".encode())


def _item(block: Block, key: str) -> dict[str, Any] | None:
    """An output item of the Responses dialect."""
    if block["type"] == "text":
        content = [{"type": "output_text", "text": block["text"], "annotations": []}]
        return {
            "type": "message",
            "id": f"msg_{key}",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    if block["type"] == "thought":
        summary = [{"type": "summary_text", "text": block["text"]}]
        return {"type": "reasoning", "id": f"rs_{key}", "summary": summary}
    if block["type"] != "tool_use":
        return None
    common = {"call_id": f"call_{key}", "name": block["name"], "status": "completed"}
    if block["name"] == "apply_patch":  # a tool without a schema: its input is plain text
        return {"type": "custom_tool_call", "id": f"ctc_{key}", **common, **block["input"]}
    arguments = json.dumps(block["input"])
    return {"type": "function_call", "id": f"fc_{key}", **common, "arguments": arguments}


def _messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The request's conversation in the form that the script is matched against."""
    found = []
    for item in body.get("input") or body.get("contents") or []:
        content = item.get("content") or item.get("parts") or []
        if isinstance(content, str):
            content = [{"text": content}]
        texts = [p["text"] for p in content if isinstance(p, dict) and "text" in p]
        found.append({"role": item.get("role", "tool"), "content": "\n".join(texts)})
    return found
