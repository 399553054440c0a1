"""DOORS: the only modules that touch the outside world. Each is small, and each has a small fake in tests/."""
