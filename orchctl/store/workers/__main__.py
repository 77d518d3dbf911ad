"""`python -P -m orchctl.store.workers`: a worker, as supervisors of older versions start it."""

from orchctl.workers.__main__ import main

main()
