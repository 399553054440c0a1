"""Values and regular expressions as JavaScript has them: AgentV and suites written for it expect its results."""
