"""What JavaScript makes of values, dates and regular expressions, since suites were written for it."""
