"""Harness sessions: agent servers held by pairs, and the conversations on them."""
