"""Who may type."""

from __future__ import annotations

from tests.cli.surface.row import Row, rows

TABLE: dict[str, list[Row]] = {
    "lease show": [
        *rows(
            """
            lease show {cat}
            lease show {cat} --json
            lease show {cat} -q
            lease show {cat} --quiet
            lease show {ended} --template {{lease}}
            lease show {cat} --lease 0123456789abcdef0123456789abcdef
            """
        ),
        Row("lease show", 2),
        Row("lease show nobody", 3),
    ],
    "lease take": [
        *rows(
            """
            lease take {cat} --lease 0123456789abcdef0123456789abcdef
            lease take {cat} --lease 0123456789abcdef0123456789abcdef --ttl 1h --json
            lease take {cat} --force --wait 1s -q
            lease take {cat} --force --quiet
            lease take {cat} --force --template {{token}}
            """
        ),
        Row("lease take {cat} --ttl 0", 2),
        Row("lease take {cat} --ttl 365d", 2),
        Row("lease take {cat} --lease word", 2),
        Row("lease take nobody", 3),
        Row("lease take {ended}", 3),
        Row("lease take {cat}", 5),
    ],
    "lease release": [
        Row("lease take {cat} --lease 0123456789abcdef0123456789abcdef"),
        Row("lease release {cat} --lease 0123456789abcdef0123456789abcdef --json"),
        Row("lease release {cat} --lease 0123456789abcdef0123456789abcdef", 5),
        Row("lease release {cat} --lease 0123456789abcdef0123456789abcdef -q", 5),
        Row("lease release {cat} --lease 0123456789abcdef0123456789abcdef --quiet", 5),
        Row("lease release {cat} --lease 0123456789abcdef0123456789abcdef --template {{released}}", 5),
        Row("lease release {cat}", 2),
        Row("lease release nobody --lease 0123456789abcdef0123456789abcdef", 3),
    ],
    "lease transfer": [
        Row("lease show {cat}"),
        Row("lease transfer {cat} --to nobody --lease 0123456789abcdef0123456789abcdef", 5),
        Row("lease transfer {cat} --to nobody --return --lease 0123456789abcdef0123456789abcdef", 5),
        Row("lease transfer {cat} --to nobody -q --lease 0123456789abcdef0123456789abcdef", 5),
        Row("lease transfer {cat} --to nobody --quiet --lease 0123456789abcdef0123456789abcdef", 5),
        Row("lease transfer {cat} --to nobody --template {{who}} --lease 0123456789abcdef0123456789abcdef", 5),
        Row("lease transfer {cat} --to nobody", 2),
        Row("lease transfer {cat}", 2),
        Row("lease transfer nobody --to user --lease 0123456789abcdef0123456789abcdef", 3),
    ],
}
