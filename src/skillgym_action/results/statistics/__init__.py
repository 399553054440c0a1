"""Statistics of results: rates with intervals, exact tests, comparisons, planning, prediction, trends."""
