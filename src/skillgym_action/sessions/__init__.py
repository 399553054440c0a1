"""One session, from an empty directory to a judgement, and what several sessions of a case amount to."""
