"""Report templates of users, rendered in a process without rights."""
