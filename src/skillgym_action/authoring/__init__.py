"""New suites and cases: what ``init`` writes, and sessions that ``promote`` makes cases of."""
