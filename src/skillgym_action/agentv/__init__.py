"""AgentV's suites, targets, graders, agents and output; only the tables of formats, agents and reporters name them."""
