"""Private arithmetic on rows: rotate, rescale, round to a grid, clip, multiply exactly. No noise is drawn here."""
