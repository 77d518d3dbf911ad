"""The files of completions/ and man/, made from the commands."""

from __future__ import annotations

from pathlib import Path

from tests.generate import bash, fish, zsh
from tests.generate.manual import manual
from tests.generate.tree import tree


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
