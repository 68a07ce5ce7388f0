"""Secrets are masked by kind, the same one alike; what only looks like one stays."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapcache.state.redact import redact

MASK = re.compile(r"\[redacted:([a-z]+):([0-9a-f]{8})\]")
KEY = b"k" * 32
PEM = (
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE\n"
    "bm9uZQAAAAAAAAABAAAAMwAAAAtzc2gt\n"
)

SECRETS = {
    "aws": ["AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + "Y34FZKBOKMUTVV7A"],
    "key": ["sk-" + "A1b2C3d4" * 4, "sk-ant-api03-" + "Zz9_-" * 8, "sk-proj-" + "q" * 40],
    "github": ["ghp_" + "a1B2" * 9, "gho_" + "a1B2" * 9, "github_pat_" + "11AAA_" * 5],
    "slack": ["xoxb-" + "1234567890-abcdef"],
    "google": ["AIza" + "Sy-1_" * 7],
    "package": ["glpat-" + "x1y2" * 5, "npm_" + "x1y2" * 9, "pypi-" + "AgEI" * 6],
    "jwt": ["eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w"],
    "pem": [PEM + "-----END OPENSSH PRIVATE KEY-----"],
}
CASES = [(kind, secret) for kind, secrets in SECRETS.items() for secret in secrets]


@pytest.mark.parametrize(("kind", "secret"), CASES)
@pytest.mark.parametrize(
    "around", ["{}", "key {} here", '"{}"', "({}),", "a\n{}\nb", "密钥是：{}。"]
)
def test_C3_a_secret_is_masked_with_its_kind_wherever_it_stands(
    kind: str, secret: str, around: str
) -> None:
    shown = redact(around.format(secret), KEY)
    assert secret not in shown
    assert [kind] == [m.group(1) for m in MASK.finditer(shown)]
    before, after = around.split("{}")
    assert shown.startswith(before)
    assert shown.endswith(after)


@pytest.mark.parametrize(
    ("text", "secret", "left"),
    [
        ("https://me:hunter2@host/x", "hunter2", "https://[redacted:url:########]@host/x"),
        (
            "Authorization: Bearer abcdefghij0123456789x",
            "abcdefghij0123456789x",
            "Authorization: Bearer [redacted:bearer:########]",
        ),
        (
            "AccountName=a;AccountKey=abcdefghij0123456789+/==;",
            "abcdefghij0123456789",
            "AccountName=a;AccountKey=[redacted:azure:########];",
        ),
        ("password=hunter2x", "hunter2x", "password=[redacted:value:########]"),
        ("DB_PASSWORD: 'hunter2x'", "hunter2x", "DB_PASSWORD: '[redacted:value:########]'"),
        ('{"api_key": "hunter2x"}', "hunter2x", '{"api_key": "[redacted:value:########]"}'),
        ("x-api-key=hunter2x, next", "hunter2x", "x-api-key=[redacted:value:########], next"),
        ("APIKEY=hunter2x", "hunter2x", "APIKEY=[redacted:value:########]"),
        ("token = hunter2x", "hunter2x", "token = [redacted:value:########]"),
    ],
)
def test_C3_a_secret_known_by_its_place_is_masked_and_its_place_stays(
    text: str, secret: str, left: str
) -> None:
    shown = redact(text, KEY)
    assert re.sub(r":[0-9a-f]{8}\]", ":########]", shown) == left
    assert secret not in shown


def test_C3_a_private_key_without_its_end_is_masked_to_the_end_of_the_text() -> None:
    shown = redact(f"before\n{PEM}", KEY)
    assert shown.startswith("before\n[redacted:pem:")
    assert "b3BlbnNzaC1" not in shown
    assert "bm9uZQ" not in shown


def test_C3_what_stands_behind_a_whole_private_key_stays() -> None:
    assert redact(f"{SECRETS['pem'][0]}\nafter", KEY).endswith("\nafter")


def test_C3_the_same_secret_gets_the_same_mask_and_another_one_another() -> None:
    one, two = SECRETS["key"][:2]
    first, second, third = MASK.findall(redact(f"{one} {two} {one}", KEY))
    assert first == third
    assert first != second
    assert redact(one, KEY) == redact(one, KEY)


def test_C3_masks_of_another_store_cannot_be_compared() -> None:
    (secret,) = SECRETS["google"]
    assert redact(secret, b"a" * 32) != redact(secret, b"b" * 32)


@pytest.mark.parametrize(
    "text",
    [
        "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "123e4567-e89b-42d3-a456-426614174000",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "claude-opus-4-5-20251101",
        "gpt-5.2-codex-2026-01-01",
        "src/tokens.py and tests/test_secret_sharing.py",
        "task-force-with-a-very-long-dashed-name",
        "https://host:8080/path?x=1",
        "me@example.org",
        "it used 120000 tokens, max_tokens=8192",
        "password: no",
        "The secret is out. What a token of trust!",
        "Bearer of bad news",
        "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
        "AKIA is a prefix",
        "",
    ],
)
def test_C3_hashes_ids_names_and_words_stay(text: str) -> None:
    assert redact(text, KEY) == text


@given(st.text(max_size=80), st.sampled_from(CASES), st.text(max_size=80))
def test_C3_no_surroundings_bring_a_secret_back(
    before: str, case: tuple[str, str], after: str
) -> None:
    shown = redact(f"{before} {case[1]} {after}", KEY)
    assert case[1] not in shown
    assert "[redacted:" in shown
