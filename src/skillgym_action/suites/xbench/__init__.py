"""x-bench suites: JSON files with cases, and their expectations as text or objects."""
