"""Agents for supervisors of older versions that still run: they import them by these names. For one release."""
