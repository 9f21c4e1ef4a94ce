"""A file is whole at every moment: the old one, or the new one."""

import errno
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from committee._files import replaced_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
not_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="the superuser may write anywhere"
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(b"old")
    return path


def write(path, content=b"new"):
    with replaced_atomically(path) as file:
        file.write(content)


def assert_untouched(path):
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == [path.name]


def test_a_new_file_is_as_open_would_make_it(tmp_path):
    write(tmp_path / "a")
    (tmp_path / "b").write_bytes(b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_an_old_file_is_there_until_all_is_written(path):
    with replaced_atomically(str(path)) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder of Linux")
def test_an_error_names_the_file_that_was_asked_for():
    with pytest.raises(OSError, match=r"x\.skops") as caught:
        write("/proc/x.skops")
    assert caught.value.filename == "/proc/x.skops"


@posix
def test_permissions_of_the_old_file_are_kept(path):
    path.chmod(0o640)
    write(path)
    assert path.stat().st_mode & 0o777 == 0o640


@posix
@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_stays_and_its_target_is_replaced(tmp_path, dangling):
    target = tmp_path / "far" / "model.skops"
    target.parent.mkdir()
    if not dangling:
        target.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert os.listdir(target.parent) == ["model.skops"]


def test_a_relative_path_and_the_longest_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("x" * 255)
    assert os.listdir(tmp_path) == ["x" * 255]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_while_writing_leaves_the_old_file(path, error):
    def fail():
        with replaced_atomically(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert_untouched(path)


@pytest.mark.parametrize("stage", ["chmod", "fsync", "replace"])
def test_a_full_disk_at_any_stage_leaves_the_old_file(path, monkeypatch, stage):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, stage, full)
    with pytest.raises(OSError, match="No space"):
        write(path)
    assert_untouched(path)


@posix
def test_a_file_that_may_not_grow_leaves_the_old_one(path):
    """A real short write, by the limit of the system on the size of a file."""
    code = """
        import resource, signal, sys
        from committee._files import replaced_atomically
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        with replaced_atomically(sys.argv[1]) as file:
            file.write(bytes(100_000))
    """
    done = run(code, path)
    assert b"File too large" in done.stderr
    assert_untouched(path)


def run(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        check=False,
    )


@pytest.mark.slow
@posix
def test_a_killed_process_leaves_the_old_file_and_a_partial_one(path):
    code = """
        import os, signal, sys
        from committee._files import replaced_atomically
        with replaced_atomically(sys.argv[1]) as file:
            file.write(b"half")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run(code, path).returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    (left,) = set(os.listdir(path.parent)) - {path.name}
    assert left.startswith(".model.skops.")
    assert left.endswith(".partial")

    bystander = path.parent / ".other.partial"
    bystander.write_bytes(b"mine")
    write(path)
    assert path.read_bytes() == b"new"
    assert (path.parent / left).read_bytes() == b"half"
    assert bystander.read_bytes() == b"mine"


def test_what_is_no_file_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(IsADirectoryError, match="expected a file"):
        write(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no such folder.*missing"):
        write(tmp_path / "missing" / "model.skops")
    assert os.listdir(tmp_path) == []


@posix
def test_a_device_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is not a regular file"):
        write(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


@not_root
def test_a_read_only_folder_or_file_is_refused(path):
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        write(path)
    path.chmod(0o644)
    path.parent.chmod(0o555)
    try:
        with pytest.raises(PermissionError):
            write(path)
    finally:
        path.parent.chmod(0o755)
    assert_untouched(path)


def test_a_write_protected_file_is_refused(path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *args: False)
    with pytest.raises(PermissionError, match="write-protected"):
        write(path)
    assert_untouched(path)


def test_a_folder_that_takes_no_file_leaves_the_old_one(path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, "read-only folder")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionError, match="read-only"):
        write(path)
    monkeypatch.undo()
    assert_untouched(path)
