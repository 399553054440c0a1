"""Assertions, one file per family.

An assertion evaluates ``judge(context)``, which returns an ``Outcome`` with its explanation. It has no access to files
and processes but through the context: the session report, the workspace after and before the session, commands run in
it. To add one: a class in its family's file, the format that makes it, a table of cases in tests/.
"""
