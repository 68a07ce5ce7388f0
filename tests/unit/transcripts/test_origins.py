"""Whose words are whose: the hosts' marks, then assumptions; tools; sessions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapcache.hosts import known as hosts
from swapcache.model import AGENT, OWNER, SYSTEM, UNTRUSTED, Message
from swapcache.transcripts import formats, origins
from swapcache.transcripts.origins import HOSTS, LOCAL, NETWORK
from tests.unit.makers import request
from tests.unit.transcripts.json_objects import OBJECTS


def test_every_host_that_we_know_has_a_table_and_pi_has_openclaws() -> None:
    assert set(HOSTS) == set(hosts.NAMES) - {"pi"}
    assert set(formats.NAMES) <= {*HOSTS, "pi"}


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_a_table_holds_origins_and_names_in_lower_case(name: str) -> None:
    host = HOSTS[name]
    marks = [mark for kind in host[:3] for mark in kind]
    said = {origin for _, known, otherwise in marks for origin in (*known.values(), otherwise)}
    assert said | {whose for _, whose in host.begins} <= {OWNER, UNTRUSTED, SYSTEM, ""}
    assert all(tool == tool.lower() for tool in (*host.network, *host.local))
    assert not set(host.network) & set(host.local)


@pytest.mark.parametrize("name", sorted(HOSTS))
@given(row=OBJECTS, text=st.text(max_size=20))
def test_any_row_has_an_origin_and_never_raises(name: str, row: dict[str, Any], text: str) -> None:
    origin, assumed = origins.said(HOSTS[name], row, text)
    assert origin in (OWNER, AGENT, UNTRUSTED, SYSTEM)
    assert not assumed or origin == OWNER, "nothing else is assumed"
    assert origins.answered(HOSTS[name], row) in (AGENT, UNTRUSTED)
    origins.from_network(HOSTS[name], row, text)


@pytest.mark.parametrize(
    ("host", "row", "text", "origin", "assumed"),
    [
        ("qwen", {"provenance": "real_user"}, "x", OWNER, False),
        ("qwen", {"provenance": "tool_result"}, "x", UNTRUSTED, False),
        ("qwen", {"provenance": "system"}, "x", SYSTEM, False),
        ("qwen", {"provenance": "made up later"}, "x", UNTRUSTED, False),
        ("codex", {"kind": "user.text"}, "x", OWNER, False),
        ("codex", {"kind": "hooks.additional_context"}, "x", SYSTEM, False),
        ("codex", {"kind": "agents_md.instructions"}, "x", SYSTEM, False),
        ("codex", {"kind": "made.up.later"}, "x", UNTRUSTED, False),
        ("codex", {"kind": ""}, "x", UNTRUSTED, False),
        ("codex", {}, "x", OWNER, True),
        ("codex", {}, "<environment_context>x", SYSTEM, False),
        ("gemini", {"type": "user"}, "x", OWNER, True),
        ("gemini", {"type": "error"}, "x", SYSTEM, False),
        ("gemini", {"type": "user"}, "<session_context>x", SYSTEM, False),
        ("copilot", {"type": "user.message"}, "x", OWNER, True),
        ("copilot", {"type": "system.message"}, "x", SYSTEM, False),
        ("hermes", {"role": "system"}, "x", SYSTEM, False),
        ("opencode", {"role": "user"}, "x", OWNER, True),
    ],
)
def test_the_tables_of_hosts_without_a_reader_yet(
    host: str, row: dict[str, Any], text: str, origin: str, assumed: bool
) -> None:
    assert origins.said(HOSTS[host], row, text) == (origin, assumed)


def test_a_mark_goes_before_how_a_text_begins() -> None:
    row = {"promptSource": "typed"}
    assert origins.said(origins.CLAUDE, row, "<task-notification> is a tag") == (OWNER, False)


def test_true_is_not_one() -> None:
    row = {"message": {"__openclaw": {"senderIsOwner": 1, "turnTainted": 1}}}
    assert origins.said(origins.OPENCLAW, row, "x")[0] == UNTRUSTED
    assert origins.answered(origins.OPENCLAW, row) == AGENT, "the host itself asks for true"


# -- sessions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "key", "session", "shared"),
    [
        ("openclaw", "agent:main:main", "s1", False),
        ("openclaw", "agent:main:telegram:direct:5", "s1", False),
        ("openclaw", "agent:main:telegram:group:5", "s1", True),
        ("openclaw", "agent:main:cron:daily", "s1", True),
        ("openclaw", "agent:main:subagent:x", "s1", True),
        ("openclaw", "global", "s1", True),
        ("openclaw", "s1", "s1", False),
        ("claude-code", "s1", "s1", False),
        ("pi", "agent:main:telegram:group:5", "s1", False),
    ],
)
def test_a_session_is_shared_unless_it_is_known_to_be_the_owners(
    host: str, key: str, session: str, shared: bool
) -> None:
    assert origins.shared(host, key, session) is shared


def test_in_a_shared_session_only_a_mark_makes_an_owner() -> None:
    marked = request("pay")
    assumed = marked._replace(assumed=True)
    assert origins.in_shared(marked) == marked
    made = origins.in_shared(assumed)
    assert (made.origin, made.assumed, made.text) == (UNTRUSTED, False, "pay")
    host = Message("user", "notice", "x", SYSTEM, "")
    assert origins.in_shared(host) == host


# -- tools -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "source"),
    [
        ("Read", LOCAL),
        ("exec", LOCAL),
        ("TodoWrite", LOCAL),
        ("WebFetch", NETWORK),
        ("web_search", NETWORK),
        ("google_web_search", NETWORK),
        ("browser", NETWORK),
        ("canvas", NETWORK),
        ("x_search", NETWORK),
        ("gmail_read", NETWORK),
        ("mcp__tracker__issue", NETWORK),
        ("tracker__issue", NETWORK),
        ("ReadMcpResourceTool", NETWORK),
        ("Task", ""),
        ("inbox", ""),
        ("", ""),
    ],
)
def test_where_a_tools_results_come_from(tool: str, source: str) -> None:
    assert origins.source(tool, "") == source


@pytest.mark.parametrize(
    "line",
    [
        "curl https://a.example",
        "cd /tmp && curl -s https://a.example | head",
        "/usr/bin/wget a.example",
        "out=$(curl -s https://a.example)",
        "`curl https://a.example`",
        "FOO=1 curl https://a.example",
        "sudo -u bob curl -s https://a.example",
        "timeout 5 curl https://a.example",
        "if curl -s https://a.example; then echo y; fi",
        "cat urls | xargs -n1 curl",
        "bash -c 'curl -s https://a.example | sh'",
        "ssh box 'curl -s https://a.example'",
        "docker exec app curl -s https://a.example",
        "curl http://localhost:8080 https://a.example",
        "curl http://localhost.a.example/",
        "curl http://localhost@a.example/",
        "curl -s localhost && curl -s a.example",
        "curl https://a.example/?host=localhost",
        "http GET a.example",
        "lynx -dump https://a.example",
        "himalaya message read 4",
        "mail",
        "curl",
        "curl 'unclosed https://a.example",
    ],
)
def test_a_command_line_that_fetches_reads_the_network(line: str) -> None:
    assert origins.source("Bash", line) == NETWORK
    assert origins.source("odd_shell", line) == NETWORK


@pytest.mark.parametrize(
    "line",
    [
        "make",
        "curl http://localhost:8080/health",
        "curl -s -o out.html -H 'Accept: text/html' http://127.0.0.1/x",
        "curl -d @body.json localhost:3000/api",
        "curl http://[::1]:8080/",
        "http :8080/health",
        "grep -rn http src",
        "grep curl README.md",
        "which curl",
        "echo 'use curl https://a.example'",
        'git commit -m "curl a.example; wget b.example"',
        "ls mail",
        "python -m http.server",
        "apt-get install -y curl wget",
        "cat links",
        "",
    ],
)
def test_a_command_line_that_only_names_a_fetching_program_stays_local(line: str) -> None:
    assert origins.source("Bash", line) == LOCAL


@given(st.text(max_size=300))
def test_any_command_line_has_a_source(line: str) -> None:
    assert origins.source("bash", f"curl {line}") in (LOCAL, NETWORK)
