"""`python -P -m orchctl.keeper`: the zygote, as supervisors of older versions start it."""

from orchctl.pair.daemon import main

main()
