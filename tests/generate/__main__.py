"""`python -m tests.generate`: write everything that is made from the code, and print the files that changed."""

from __future__ import annotations

from pathlib import Path

from tests.generate import pages, protocol_doc, public_api

TOP = Path(__file__).parent.parent.parent


def main() -> None:
    """All of it; what is as it should be is left alone."""
    made = {
        protocol_doc.DOCUMENT: protocol_doc.document(protocol_doc.DOCUMENT.read_text()),
        public_api.PINNED: public_api.described(),
    }
    changed = pages.write(TOP)
    for path, text in made.items():
        if path.read_text() != text:
            path.write_text(text)
            changed.append(path)
    for path in changed:
        print(path.relative_to(TOP))


if __name__ == "__main__":
    main()
