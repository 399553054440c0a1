"""The HTML report of a run and the trend page, with their charts."""
