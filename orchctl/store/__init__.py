"""Entry points of processes of older versions, which start checks and workers by these names. For one release."""
