"""Harbor tasks, ``TASK/{task.toml, instruction.md, environment/, tests/}``: entered through ``FORMATS``."""
