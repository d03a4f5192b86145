"""Files read block by block, again on every pass: one module per format.

file_stream has what all formats share; arrow_rows what Parquet and Arrow IPC share. ../stream.py is their base class,
../cluster reads the same files in parts on the workers of a Dask cluster.
"""
