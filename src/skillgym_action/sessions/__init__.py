"""One session, from an empty directory to a judgement, and the combined result of several sessions of an execution."""
