"""Entry point of processes of older versions, which start workers by this name. For one release."""
