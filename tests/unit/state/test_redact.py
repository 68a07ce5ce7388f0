"""Secrets are masked by kind, the same one alike; what only looks like one stays."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import swapcache
from swapcache.state.redact import redact, shown
from tests.unit.makers import quick
from tests.unit.state import secret_lines
from tests.unit.state.secret_lines import KEYS, LONG, ORDINARY, PASS, PLACES, made

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


# -- the corpora -----------------------------------------------------------------------------------

AROUND = [
    "{}",
    "use {} here",
    '{{"a": "{}"}}',
    "密钥是{}。",
    "x\\n{}\\ny",
    "`{}`.",
    "token={}",
    "({})",
]


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("around", AROUND)
def test_C3_a_known_form_has_its_kind_wherever_it_stands(name: str, around: str) -> None:
    kind, secret = KEYS[name]
    masked = redact(around.format(secret), KEY)
    assert secret not in masked
    assert [kind] == [m.group(1) for m in MASK.finditer(masked)]
    assert masked.replace(MASK.search(masked)[0], secret) == around.format(secret)  # type: ignore[index]


@pytest.mark.parametrize(("line", "secret"), PLACES, ids=[str(n) for n in range(len(PLACES))])
def test_C3_a_secret_behind_a_name_vanishes_and_its_line_stays(line: str, secret: str) -> None:
    masked = redact(line, KEY)
    assert secret not in masked
    assert MASK.search(masked)
    assert redact(masked, KEY) == masked, "a mask is not masked again"
    assert redact(masked, b"other key") == masked
    assert masked.startswith(line[:3])


@pytest.mark.parametrize("line", ORDINARY)
def test_C3_ordinary_lines_stay_byte_for_byte(line: str) -> None:
    assert redact(line, KEY) == line
    assert redact(f"before\n{line}\nafter", KEY) == f"before\n{line}\nafter"
    assert redact(json.dumps({"text": line}), KEY) == json.dumps({"text": line})


def test_the_corpora_are_large() -> None:
    assert len(KEYS) + len(PLACES) > 100
    assert len(ORDINARY) > 80


def test_C3_our_own_source_and_docs_hold_nothing_to_mask() -> None:
    root = Path(swapcache.__file__).parents[2]
    files = [f for part in ("src", "docs", "scripts") for f in (root / part).rglob("*")]
    texts = [
        f.read_text(errors="replace")
        for f in files
        if f.suffix in ("", ".py", ".md", ".js")
        if f.is_file()
    ]
    assert len(texts) > 100 or not (root / "docs").is_dir()
    assert [redact(text) for text in texts] == texts


# -- hidden, cut, wrapped, escaped -----------------------------------------------------------------


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u00ad", "\x1b[0m", "\u2060", "\x00", "\u3164", "\x08"]
)
@pytest.mark.parametrize("name", ["openai", "github", "aws", "jwt", "telegram"])
def test_C3_nothing_invisible_hides_a_secret(hidden: str, name: str) -> None:
    secret = KEYS[name][1]
    assert shown(secret[:9] + hidden + secret[9:], KEY) == redact(secret, KEY)
    assert PASS not in shown(f"pass{hidden}word={PASS[:3]}{hidden}{PASS[3:]}", KEY)


@pytest.mark.parametrize("name", ["openai", "github", "google ai", "aws", "jwt", "slack bot"])
def test_C3_escapes_of_json_hide_no_secret_and_change_no_mask(name: str) -> None:
    secret = KEYS[name][1]
    escaped = "".join(f"\\u{ord(c):04x}" if n % 3 == 1 else c for n, c in enumerate(secret))
    row = f'{{"text": "{escaped}", "more": "\\u4e2d\\u0022"}}'
    assert redact(row, KEY) == f'{{"text": "{redact(secret, KEY)}", "more": "\\u4e2d\\u0022"}}'
    assert redact(f'{{"\\u0070assword": "{PASS}"}}', KEY).count("[redacted:value:") == 1


PREFIXED = [n for n, (kind, s) in KEYS.items() if kind in ("key", "github", "package", "google")]


@pytest.mark.parametrize("name", [n for n in PREFIXED if "." not in KEYS[n][1]])
def test_C3_a_key_whose_end_was_cut_off_is_masked(name: str) -> None:
    secret = KEYS[name][1]
    start = secret[: max(20, len(secret) // 2)]
    for cut in (f"…and {start}", f"{start}… more"):
        assert start[-8:] not in redact(cut, KEY)


def test_C3_a_private_key_has_one_mask_however_its_lines_are_wrapped() -> None:
    pem = secret_lines.PEM
    wraps = [
        pem,
        pem.replace("\n", " "),
        pem.replace("\n", "\r\n"),
        pem.replace("\n", "\\n"),
        json.dumps(json.dumps(pem))[3:-3],
        pem.replace("\n", "\n  > "),
    ]
    assert len({MASK.search(redact(text, KEY))[0] for text in wraps}) == 1  # type: ignore[index]
    for text in wraps:
        assert redact(f"a {text} b", KEY) == f"a {redact(pem, KEY)} b"
    assert secret_lines.BODY[70:90] not in redact(pem[:300], KEY)


def test_C3_the_same_secret_has_the_same_hex_wherever_it_stands() -> None:
    lines = [line for line, secret in PLACES if secret == PASS]
    digests = [MASK.findall(redact(line, KEY))[0][1] for line in lines]
    assert len(set(digests)) == 1 and len(digests) > 20
    token = KEYS["github"][1]
    places = [token, f"token={token}", f"https://{token}@host", f"Authorization: Bearer {token}"]
    masks = [MASK.search(redact(line, KEY))[0] for line in places]  # type: ignore[index]
    assert len(set(masks)) == 1, "what has a form of its own has its kind everywhere"


@given(st.sampled_from([*PLACES, *((s, s) for _, s in KEYS.values())]), st.text(max_size=40))
def test_C3_masking_twice_is_masking_once(case: tuple[str, str], around: str) -> None:
    once = shown(f"{around} {case[0]} {around}", KEY)
    assert case[1] not in once
    assert shown(once, KEY) == once


PREFIXES = ["token=", "token1=", "token=(1", "password", "password=(", 'password="', "secret_"]
PREFIXES += ["--token ", "eyJ", "-eyJ", "eyJaaaaaaaaa.", "sk-", "sk-a-", "://", "://a:b@", "curl "]
PREFIXES += [
    "-----BEGIN PRIVATE KEY-----",
    "12345678:AA",
    "bearer ",
    "cookie: a=",
    "\\u0041",
    "密码",
]


@pytest.mark.parametrize("hostile", PREFIXES)
def test_a_megabyte_of_any_prefix_takes_less_than_a_second(hostile: str) -> None:
    text = (hostile * 1_000_000)[:1_000_000]
    assert quick(lambda: redact(text, KEY))


def test_C3_a_secret_longer_than_what_is_judged_goes_to_its_end() -> None:
    secret = made(3000)
    assert redact(f"password={secret} end", KEY).endswith("] end")
    assert redact(f'{{"token": "{secret}"}}', KEY).endswith(']"}')
    assert redact(f'{{\\"token\\": \\"{secret}\\"}}', KEY).endswith(']\\"}')
    assert secret[-20:] not in redact(f"token={secret}", KEY) + redact(
        f"token='{LONG}{secret}'", KEY
    )
