"""Sessions that become cases: what a session was given and did, expectations drafted from it, and the files."""
