"""The log: output and journals on disk, their names, writers, readers, retention and checks."""
