"""`python -P -m orchctl.supervisor`: as the zygote starts it."""

import gc


def _main() -> None:
    gc.disable()  # loading modules makes no garbage
    from orchctl.supervisor.main import main

    gc.freeze()
    gc.enable()
    main()


_main()
