"""A long answer in pieces: it is one gzip file, and only what is new is compressed."""

import gzip
import zlib
from collections.abc import Iterator

import pytest

from console.core import pieces
from console.core.pieces import GzipPieces, compressed, cut


def texts(first: int, last: int) -> list[bytes]:
    return [f"a line with the number {number}\n".encode() for number in range(first, last)]


def test_pieces_are_one_file() -> None:
    packer, parts = GzipPieces(), texts(0, 50)
    assert gzip.decompress(packer.compress(parts)) == b"".join(parts)
    again = [*parts[:20], b"something new", *parts[20:], parts[0]]
    assert gzip.decompress(packer.compress(again)) == b"".join(again), "with kept pieces, one of them twice"
    assert gzip.decompress(packer.compress([])) == b""


def test_only_what_is_new_is_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[bytes] = []
    real = pieces._packed

    def packed(piece: bytes) -> bytes:
        done.append(piece)
        return real(piece)

    monkeypatch.setattr(pieces, "_packed", packed)
    packer = GzipPieces()
    packer.compress([b"one", b"two", b"three"])
    packer.compress([b"zero", b"one", b"three"])
    assert done == [b"one", b"two", b"three", b"zero"]
    packer.compress([b"two"])
    assert done[4:] == [b"two"], "what was not in the last answer is not kept"


def test_what_is_there_goes_out_before_the_rest_is_made() -> None:
    made: list[bytes] = []

    def parts() -> Iterator[bytes]:
        for part in texts(0, 3):
            made.append(part)
            yield part

    reader, told = zlib.decompressobj(zlib.MAX_WBITS | 16), compressed(parts())
    first = next(told)
    assert reader.decompress(first) == made[0]
    assert len(made) == 1
    rest = list(told)
    assert gzip.decompress(b"".join([first, *rest])) == b"".join(texts(0, 3))
    assert gzip.decompress(b"".join(compressed([]))) == b""


def test_a_new_text_at_the_front_leaves_the_others_as_they_are() -> None:
    many = texts(0, 4000)
    before, after = cut(many, 16), cut([b"new", *many], 16)
    assert b"".join(before) == b"".join(many)
    assert b"".join(after) == b"new" + b"".join(many)
    assert len(before) > 50
    assert len(set(after) - set(before)) <= 2
    assert cut([], 16) == []
