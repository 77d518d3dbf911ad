"""Tests of harness sessions: one contract, run over every backend."""
