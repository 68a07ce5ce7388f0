"""Compressed data: whole, of several frames, damaged, too large."""

from backports import zstd as packing

from swapcache.transcripts import zstd

WORDS = b"".join(b"line %d of some words\n" % n for n in range(20000))


def test_one_frame_and_several_are_read_whole() -> None:
    third = len(WORDS) // 3
    frames = [packing.compress(WORDS[at : at + third]) for at in range(0, len(WORDS), third)]
    for data in (packing.compress(WORDS), b"".join(frames)):
        assert zstd.unpacked(data, 1 << 30) == (WORDS, "")


def test_what_is_whole_before_the_damage_is_kept_with_the_reason() -> None:
    whole = packing.compress(WORDS)
    for data in (whole + b"garbage", whole + packing.compress(WORDS)[:-9]):
        plain, reason = zstd.unpacked(data, 1 << 30)
        assert plain.startswith(WORDS) and reason.startswith("damaged zstd data"), reason
    assert zstd.unpacked(whole[:-3], 1 << 30)[1] == "damaged zstd data (its end is missing)"
    assert zstd.unpacked(b"", 1 << 30)[1] == "damaged zstd data (its end is missing)"


def test_more_than_the_limit_is_said_and_not_held() -> None:
    plain, reason = zstd.unpacked(packing.compress(bytes(9 << 20)), 4 << 20)
    assert len(plain) <= 4 << 20 and reason == "more than 4 MB of zstd data"
