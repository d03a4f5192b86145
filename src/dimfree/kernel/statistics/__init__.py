"""The integer statistics of the queries, and how far one record moves each. No noise is drawn here."""
