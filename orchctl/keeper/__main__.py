"""`python -P -m orchctl.keeper`: the zygote, as the client starts it."""

from orchctl.keeper.daemon import main

main()
