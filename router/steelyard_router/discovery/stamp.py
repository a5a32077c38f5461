"""Whether a file or folder may have changed: cheap to ask, and true for every way they are
replaced.

The path is followed, so an atomic rename and the swap of a Kubernetes `..data` symlink show as
another inode; an edit in place shows in time and size. A plain folder, which nothing replaces
whole, has the stamps of its visible YAML files instead.
"""

from pathlib import Path
from typing import NamedTuple, Self

MOUNTED = "..data"
"""The symlink that a kubelet swaps to replace all files of a mounted ConfigMap at once."""


class FileStamp(NamedTuple):
    """What stat says about a file's content, or about a folder and the files in it."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    files: tuple[tuple[str, "FileStamp | None"], ...] = ()

    @classmethod
    def of(cls, path: Path) -> Self | None:
        """The stamp now; None when there is nothing to be read."""
        try:
            if not path.is_dir():
                return cls._alone(path)
            if (mounted := path / MOUNTED).exists():
                return cls._alone(mounted)
            files = tuple((file.name, cls.of(file)) for file in yaml_files(path))
            return cls._alone(path)._replace(files=files)
        except OSError:
            return None

    @classmethod
    def _alone(cls, path: Path) -> Self:
        stat = path.stat()
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)

    def replaces(self, other: "FileStamp | None") -> bool:
        """Whether this is another file than there was, and not the same one being written."""
        return other is not None and (self.device, self.inode) != (other.device, other.inode)


def yaml_files(folder: Path) -> list[Path]:
    """The visible *.yaml files, by name. What begins with a dot is bookkeeping."""
    return sorted(
        file for file in folder.iterdir() if file.suffix == ".yaml" and file.name[0] != "."
    )
