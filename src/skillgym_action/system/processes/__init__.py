"""Programs: started, watched, limited and ended; the users they run as."""
