"""The formulas, computed a second time from their description; the key file."""

import hashlib
import hmac
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swapcache import paths
from swapcache.errors import KeyProblem
from swapcache.store import seal
from tests.unit.store.making import at_once, child, database_path, filled, mode, owner, rest

KEY = bytes(range(32))
CONTEXT = {"agent": "Ä\"gent'\\", "store": "uuid-1", "ws": "work-1"}
WORDS = [
    "plain",
    'with "quotes" and \\backslash\\',
    "Zürich 東京 🧵",
    "line\nbreak\ttab\x00nul\x7f",
    "\ud800 alone",
    "</script>\u2028",
]


def canon(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def hmac_hex(key: bytes, value: object) -> str:
    return hmac.new(key, canon(value), hashlib.sha256).hexdigest()


def subkey(purpose: str, context: dict[str, str] = CONTEXT, key: bytes = KEY) -> bytes:
    prefix = b"swapcache/v1/" + purpose.encode() + b"\x00"
    return hmac.new(key, prefix + canon(context), hashlib.sha256).digest()


def keys(**changed: str) -> seal.Keys:
    context = CONTEXT | changed
    return seal.derive(KEY, context["agent"], context["store"], context["ws"])


# -- formulas --------------------------------------------------------------------------------------


def test_subkeys_are_derived_for_each_purpose_from_the_context() -> None:
    made = keys()
    assert made.record == subkey("record")
    assert made.head == subkey("head")
    assert made.witness == subkey("witness")
    assert made.view == subkey("view")
    assert made.id == hashlib.sha256(KEY).hexdigest()[:8]
    assert len({made.record, made.head, made.witness, made.view}) == 4


@pytest.mark.parametrize("text", WORDS)
def test_a_tag_is_the_documented_hmac_whatever_the_meta_holds(text: str) -> None:
    stored = canon({"text": text, text: [1, None, True]}).decode("ascii")
    digest = hashlib.sha256(b"body").hexdigest()
    previous = "ab" * 32
    expected = hmac_hex(subkey("record"), [1, 7, digest, stored, previous])
    assert keys().tag(7, digest, stored, previous) == expected


@settings(
    database=None,
    deadline=None,
    max_examples=200,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(0, 2**53 - 1), st.text(), st.binary())
def test_a_tag_covers_the_stored_string_exactly(seq: int, meta: str, body: bytes) -> None:
    digest = hashlib.sha256(body).hexdigest()
    expected = hmac_hex(subkey("record"), [1, seq, digest, meta, "0" * 64])
    assert keys().tag(seq, digest, meta, seal.START) == expected


def test_head_witness_and_view_macs_are_the_documented_ones() -> None:
    made, tag = keys(), "cd" * 32
    assert made.head_mac(3, tag) == hmac_hex(subkey("head"), [1, 3, tag])
    assert made.witness_mac(3, tag, 2) == hmac_hex(subkey("witness"), [1, 3, tag, 2])
    assert made.view_mac(3, tag, "ef") == hmac_hex(subkey("view"), [1, 3, tag, "ef"])


@pytest.mark.parametrize("part", ["agent", "store", "ws"])
def test_every_part_of_the_context_changes_every_mac(part: str) -> None:
    mine, other = keys(), keys(**{part: "other"})
    digest, tag = "00" * 32, "11" * 32
    assert mine.id == other.id
    assert mine.tag(0, digest, "{}", tag) != other.tag(0, digest, "{}", tag)
    assert mine.head_mac(0, tag) != other.head_mac(0, tag)
    assert mine.witness_mac(0, tag, 0) != other.witness_mac(0, tag, 0)
    assert mine.view_mac(0, tag, digest) != other.view_mac(0, tag, digest)


def test_names_cannot_be_shifted_from_one_part_of_the_context_to_another() -> None:
    one = seal.derive(KEY, 'a","store":"b', "c", "d")
    two = seal.derive(KEY, "a", 'b","store":"c', "d")
    assert one.record != two.record


@pytest.mark.parametrize("changed", ["seq", "body", "meta", "previous"])
def test_every_argument_changes_the_tag(changed: str) -> None:
    given_ = {"seq": 1, "body": "aa" * 32, "meta": "{}", "previous": "bb" * 32}
    other = {"seq": 2, "body": "ab" * 32, "meta": "{ }", "previous": "bc" * 32}
    made = keys()

    def tag(v: dict[str, Any]) -> str:
        return made.tag(v["seq"], v["body"], v["meta"], v["previous"])

    assert tag(given_) != tag(given_ | {changed: other[changed]})


@pytest.mark.parametrize("text", WORDS)
def test_canon_is_one_ascii_form_that_reads_back(text: str) -> None:
    value = {"b": [text, 1], "a": {text: None}}
    made = seal.canon(value)
    assert made == canon(value)
    assert made.isascii()
    assert json.loads(made) == value
    assert seal.canon({"a": {text: None}, "b": [text, 1]}) == made


# -- key -------------------------------------------------------------------------------------------


@pytest.fixture
def key_path() -> Path:
    path = Path(paths.key_file())
    path.parent.mkdir(parents=True)
    return path


def put(path: Path, content: bytes = KEY, bits: int = 0o600) -> None:
    path.write_bytes(content)
    path.chmod(bits)


def test_a_new_key_is_32_bytes_of_its_own_in_a_private_place() -> None:
    before = os.umask(0)
    try:
        made = seal.create_key(paths.key_file())
    finally:
        os.umask(before)
    assert len(made) == seal.KEY_SIZE == 32
    assert mode(paths.key_file()) == 0o600
    assert mode(paths.config_dir()) == 0o700
    assert seal.read_key(paths.key_file()) == made
    assert os.listdir(paths.config_dir()) == ["key"]
    assert seal.create_key(f"{paths.config_dir()}/second") != made


def test_creating_a_key_that_exists_gives_the_one_that_exists(key_path: Path) -> None:
    put(key_path)
    assert seal.create_key(str(key_path)) == KEY
    assert os.listdir(key_path.parent) == ["key"]


CREATE = """
import sys
from swapcache.store import seal
print("ready", flush=True)
sys.stdin.readline()
print(seal.create_key(sys.argv[1]).hex())
"""


def test_eight_processes_that_create_the_key_at_once_get_the_same_one() -> None:
    path = paths.key_file()
    found = at_once(8, CREATE, path)
    assert found == {Path(path).read_bytes().hex()}
    assert os.listdir(paths.config_dir()) == ["key"]


def test_a_missing_key_is_told_from_a_bad_one(key_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        seal.read_key(str(key_path))


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o620, 0o610, 0o666])
def test_a_key_that_others_can_reach_is_refused_with_the_command_that_mends_it(
    key_path: Path, bits: int
) -> None:
    put(key_path, bits=bits)
    with pytest.raises(KeyProblem) as caught:
        seal.read_key(str(key_path))
    assert f"chmod 600 {key_path}" in str(caught.value)
    key_path.chmod(0o600)
    assert seal.read_key(str(key_path)) == KEY


def test_a_key_behind_a_symlink_is_refused(key_path: Path) -> None:
    put(key_path.with_name("real"))
    key_path.symlink_to("real")
    with pytest.raises(KeyProblem, match="cannot be opened"):
        seal.read_key(str(key_path))


def test_a_key_with_a_second_name_is_refused(key_path: Path) -> None:
    put(key_path)
    os.link(key_path, key_path.with_name("second"))
    with pytest.raises(KeyProblem, match="one name; move it away"):
        seal.read_key(str(key_path))


@pytest.mark.parametrize("size", [0, 31, 33, 4096])
def test_a_key_of_another_length_is_refused_with_both_lengths(key_path: Path, size: int) -> None:
    put(key_path, b"k" * size)
    with pytest.raises(KeyProblem, match=rf"has {min(size, 33)} bytes instead of 32"):
        seal.read_key(str(key_path))


@pytest.mark.parametrize("kind", ["directory", "fifo"])
def test_a_key_that_is_no_file_is_refused_at_once(key_path: Path, kind: str) -> None:
    if kind == "directory":
        key_path.mkdir()
    else:
        os.mkfifo(key_path, 0o600)
    with pytest.raises(KeyProblem, match="no plain file"):
        seal.read_key(str(key_path))


def test_a_key_of_another_user_is_refused(key_path: Path) -> None:
    put(key_path)
    code = (
        "import os, sys\n"
        "from swapcache.errors import KeyProblem\n"
        "from swapcache.store import seal\n"
        "if os.geteuid() == 0:\n"
        "    os.chown(sys.argv[1], 4321, -1)\n"
        "    path = sys.argv[1]\n"
        "else:\n"
        "    path = '/etc/hostname'\n"
        "try:\n"
        "    seal.read_key(path)\n"
        "except KeyProblem as problem:\n"
        "    print(problem)\n"
    )
    with child(code, str(key_path)) as process:
        (message,) = rest(process)
    assert "belongs to another user" in message


def test_a_refused_key_leaves_no_descriptor_open(key_path: Path) -> None:
    put(key_path, b"short")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        with pytest.raises(KeyProblem):
            seal.read_key(str(key_path))
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("damaged", [False, True])
def test_a_lost_key_is_never_replaced_where_stores_exist(home: Path, damaged: bool) -> None:
    from swapcache.store.opening import open_store

    store_id = filled(owner(home), 1)
    if damaged:
        database_path(store_id).write_bytes(b"garbage" * 999)
        os.unlink(paths.owner_file(paths.store_dir(store_id)))
    os.unlink(paths.key_file())
    with pytest.raises(KeyProblem) as caught:
        open_store(owner(home, "another"))
    assert paths.key_file() in str(caught.value)
    assert "backup" in str(caught.value)
    assert not os.path.exists(paths.key_file())


def test_a_key_that_is_not_to_be_trusted_is_never_replaced(home: Path, key_path: Path) -> None:
    from swapcache.store.opening import open_store

    put(key_path, b"short")
    with pytest.raises(KeyProblem, match="instead of 32"):
        open_store(owner(home))
    assert key_path.read_bytes() == b"short"
