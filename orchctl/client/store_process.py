"""What the store's files say, read by a process of its own: that needs no supervisor, and starts none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from orchctl.errors import Internal, from_wire


def ask_store(action: str, root: str, *words: str) -> Iterator[dict[str, Any]]:
    """Its lines as they come; -P, so that nothing in the current directory can take a module's place."""
    argv = [sys.executable, "-P", "-m", "orchctl.log.check", action, root, *words]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        try:
            for line in child.stdout:
                found: dict[str, Any] = json.loads(line)
                if "error" in found and "code" in found and "message" in found and len(found) == 3:
                    raise from_wire(found["error"], found["code"], found["message"])
                yield found
        except BaseException:  # Ctrl-C, or nobody listens any more
            child.kill()
            raise
        last = child.stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
    if child.returncode:
        raise Internal(f"reading the store ended with {child.returncode}: {last}", code="store-failed")
