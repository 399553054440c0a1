"""The stages of the pipeline. Each takes the previous one's result; they do not import each other. See pipeline.py."""
