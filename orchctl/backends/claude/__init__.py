"""See `backends`."""

from orchctl.backends.bridge import harness

HARNESS = harness("claude")
