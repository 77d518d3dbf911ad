"""What running text in a live bash has to give: a table of cases that any tool of this kind could be held to.

`table.CASES` is plain data of the standard library's types; `case.py` says what each field means and judges an
answer. A tool runs a case like this: make a fresh directory, put the case's files there, start an interactive
bash in a terminal with `HOME`, `TMPDIR` and the current directory set to it and `LC_ALL=C.UTF-8`, hand over the
steps one after another, and give what came back to `Step.faults`. The answers are those of bash 5.2, with the
usual programs of a Linux system beside it. `differences.py` says where zsh, dash, busybox, ksh93 and mksh answer
otherwise, and why; `fish.py` is the table for fish. `test_bash.py` and `test_shells.py` do this for orchctl.
"""
