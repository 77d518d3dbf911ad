"""An upgrade in place: an earlier version is installed and at work, and the present tree is installed over it."""
