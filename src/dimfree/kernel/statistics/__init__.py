"""The statistics of the queries: integers computed from records, and how far one record moves them. No noise is drawn here."""
