"""`attach`: a session in the user's own terminal."""
