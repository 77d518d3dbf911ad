"""Shows: the command line. Each command reads its arguments, calls the client, and prints."""

from __future__ import annotations

import gc
import sys
from types import TracebackType

gc.set_threshold(50_000)  # loading modules makes no garbage, and looking for it was a tenth of a command's time


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Ctrl-C while modules are still being loaded ends us by that signal, without a word."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _end
