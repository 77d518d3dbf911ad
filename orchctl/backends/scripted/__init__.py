"""See `backends`."""

from orchctl.backends.bridge import harness

HARNESS = harness("scripted")
