"""AgentV's suites, targets, graders, scores and output."""
