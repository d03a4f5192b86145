"""Many canaries in few releases."""
