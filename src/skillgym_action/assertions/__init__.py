"""SHELF: rules about what happened. One file per family.

An assertion answers ``judge(subject)`` with an ``Outcome`` that explains itself. It touches nothing: the subject shows
it the session report, the workspace as it is and as it was, and can run a command in it. To add one: a class in its
family's file, the format that makes it, a table of cases in tests/.
"""
