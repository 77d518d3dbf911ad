"""`python -P -m orchctl.pair`: the zygote, as the client starts it."""

from orchctl.pair.daemon import main

main()
