"""The nouns: suite, case, execution, session, result, run report, verdicts; errors, limits. Imports no package."""
