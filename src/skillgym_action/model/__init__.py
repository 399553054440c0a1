"""The nouns: suite, case, execution, session, result, run report, verdicts, errors. Imports no other room."""
