"""Reading what agents printed: events, trouble, skills, file reads, tool calls, tokens and cost."""
