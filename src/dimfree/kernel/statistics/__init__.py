"""The integer statistics of the queries, and the sensitivity of each. No noise is drawn here."""
