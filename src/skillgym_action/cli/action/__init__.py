"""The GitHub action: its inputs, the run in the job, and what is said about a run that ends without a report."""
