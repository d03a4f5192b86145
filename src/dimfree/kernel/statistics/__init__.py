"""The statistics of the queries: integers computed from records, and their sensitivities. No noise is drawn here."""
