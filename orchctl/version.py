"""The version of this build; the protocol has a number of its own."""

VERSION = "0.1.0"
