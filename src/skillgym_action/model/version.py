"""The version of the tool: releases read it from here, and results name it."""

__version__ = "1.0.0"
