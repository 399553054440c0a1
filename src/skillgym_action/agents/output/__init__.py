"""What agents printed: parsers of events, failures, skills, file reads, tool calls, tokens and prices."""
