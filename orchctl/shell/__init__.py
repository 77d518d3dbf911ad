"""Shells: the marks they write, the files and lines with which `exec` drives each of them. Pure."""
