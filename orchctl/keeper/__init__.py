"""Entry point of supervisors of older versions, which start their next zygote by this name. For one release."""
