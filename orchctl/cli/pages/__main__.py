"""`python -m orchctl.cli.pages [FOLDER]`: write completions/ and man/ anew, below FOLDER or here."""

from __future__ import annotations

import sys
from pathlib import Path

from orchctl.cli.pages import bash, fish, zsh
from orchctl.cli.pages.manual import manual
from orchctl.cli.pages.tree import tree


def pages() -> dict[str, str]:
    """Every file and what is in it."""
    root = tree()
    return {
        "completions/orchctl.bash": bash.script(root),
        "completions/_orchctl": zsh.script(root),
        "completions/orchctl.fish": fish.script(root),
        **{f"man/{name}": text for name, text in manual(root).items()},
    }


def write(top: Path) -> list[Path]:
    """Write them; what is there and no longer made goes. The files that changed."""
    made = {top / name: text for name, text in pages().items()}
    changed = [path for folder in ("completions", "man") for path in (top / folder).glob("*") if path not in made]
    for path in changed:
        path.unlink()
    for path, text in made.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


if __name__ == "__main__":
    for one in write(Path(*sys.argv[1:2])):
        sys.stdout.write(f"{one}\n")
