"""The memory that rotated rows take, from the schema only, since the number of rows is private."""

KEPT_BYTES = 2**31  # of rotated rows: as many as the space keeps between two passes


def memory_needed(width: int) -> str:
    """One sentence. A rotation fills the zeros of a sparse row, so it costs there what a dense table always costs."""
    return (
        f"Rotated rows are dense, {8 * width} bytes each ({width} coordinates of 8 bytes): up to "
        f"{KEPT_BYTES / 2**30:g} GiB of them are kept in memory, more are made anew in every pass."
    )
