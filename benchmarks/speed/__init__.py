"""How long releases take, against one mean and one matrix product in the same run."""
