"""The folders that agents work in: made, compared, archived, closed to agents; and the repository they copy."""
