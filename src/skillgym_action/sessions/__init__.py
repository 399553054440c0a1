"""One session: from an empty directory to a judgement, and what becomes of several of them."""
