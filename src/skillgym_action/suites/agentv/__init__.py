"""AgentV's suites, versions 4 and 5: targets, graders, conversations, and stand-ins for agents."""
