"""Whether a file may have changed: cheap to ask, and true for every way files are replaced.

The path is followed, so an atomic rename and the swap of a Kubernetes `..data` symlink show as
another inode; an edit in place shows in time and size.
"""

from pathlib import Path
from typing import NamedTuple, Self


class FileStamp(NamedTuple):
    """What stat says about a file's content."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> Self | None:
        """The stamp now; None when there is no file to be read."""
        try:
            stat = path.stat()
        except OSError:
            return None
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)

    def replaces(self, other: "FileStamp | None") -> bool:
        """Whether this is another file than there was, and not the same one being written."""
        return other is not None and (self.device, self.inode) != (other.device, other.inode)
