"""`python -P -m orchctl.supervisor`: as the zygote starts it."""

from orchctl.supervisor.main import main

main()
