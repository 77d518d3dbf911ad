"""What is made from the code and committed: completions, manual pages, docs/PROTOCOL.md, the public API.

`python -m tests.generate` writes all of it anew; tests fail while something is out of date.
"""
