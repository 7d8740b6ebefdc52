"""Files are whole or absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cutline import _files
from cutline.errors import InputError


def test_a_file_is_written_and_nothing_is_left_beside_it(tmp_path):
    _files.write_whole(tmp_path / "a.json", "ä\n")
    assert (tmp_path / "a.json").read_bytes() == "ä\n".encode()
    _files.write_whole(tmp_path / "a.json", "b")
    assert (tmp_path / "a.json").read_bytes() == b"b"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_failure_midway_leaves_the_old_file_and_no_part_of_the_new_one(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"a\.json: cannot be written \(No space left on device\)"):
        _files.write_whole(tmp_path / "a.json", "new")
    assert (tmp_path / "a.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(
        InputError, match=r"none.a\.json: cannot be written \(No such file or directory\); check the folder"
    ):
        _files.write_whole(tmp_path / "none" / "a.json", "x")


def test_others_may_read_it_as_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    _files.write_whole(tmp_path / "whole", "")
    assert Path(tmp_path / "whole").stat().st_mode == Path(tmp_path / "plain").stat().st_mode
