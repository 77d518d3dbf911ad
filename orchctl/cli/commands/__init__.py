"""One module a noun; each is imported when one of its commands runs."""
