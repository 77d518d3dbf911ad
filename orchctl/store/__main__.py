"""`python -P -m orchctl.store`: checks of the files, as clients of older versions start them."""

from orchctl.log.check.__main__ import main

main()
