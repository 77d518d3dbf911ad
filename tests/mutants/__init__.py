"""Mutants: small mistakes that somebody could make in the product, each with the test that must fail under it.

`python -m tests.mutants` makes each mistake in a copy of this tree and runs its test there. A mutant whose test still
passes has survived: a promise that no test holds. `python -m tests.mutants NAME -j 1` runs one.

A mutant is a file `SUBJECT-WHAT.patch`:

    The epoch of a grant is that of the grant before it.

    Test: tests/session/test_lease.py::test_each_grant_has_a_new_epoch

    diff --git a/orchctl/session/lease.py b/orchctl/session/lease.py
    ...

First a sentence that says what the mistake is, then the ids of the tests that must fail (all of those that are named),
then a diff of at most five changed lines. Choose a test that fails fast and every time, and a mistake that is subtle:
what dozens of tests see needs no mutant. The diff has one line of context, so that edits elsewhere do not matter, and
more only where the place would be found twice.

To write one, make the mistake in the tree, and then

    python -m tests.mutants --take NAME        puts `git diff -U1` into NAME.patch, and keeps what stands above it
    git checkout orchctl                       or `git apply -R tests/mutants/NAME.patch`

The same refreshes one that does not apply any more. When a file was only moved, change its path in the patch.
"""
