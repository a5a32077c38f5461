"""Worker processes end when the process that started them is gone, however it went.

A pool's workers hold both ends of the pipe that they wait on, so that a parent that was killed
leaves them to finish what was queued: minutes of two cores that nobody wants any more.
"""

import multiprocessing
import os
import threading


def die_with_parent() -> None:
    """To be called in a worker, once."""
    threading.Thread(target=_wait, name="parent", daemon=True).start()


def _wait() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
