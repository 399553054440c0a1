"""JSON Schemas that ``skillgym-action schema`` prints, and the texts that describe their keys."""
