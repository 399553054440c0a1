"""Eval folders of Claude plugins, ``evals/CASE/{prompt.md, case.yaml, graders/}``: entered through ``FORMATS``."""
