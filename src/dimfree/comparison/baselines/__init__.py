"""Other people's estimators behind the hall's own signature, at equal privacy, with exact accounting."""
