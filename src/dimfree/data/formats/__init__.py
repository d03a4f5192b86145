"""Tables read from their files block by block, anew on every pass: one file per format, one silhouette.

stream (what Records reads) · file_stream (what every file has in common) · npy · csv_text · parquet · ipc · zarr_folder
· h5ad · arrow_rows (what Parquet and Arrow IPC share) · progress (for the curator's eyes).
Tables in parts: partitions (what is done with one, wherever it lies) · heap (a worker's memory meanwhile) · cluster
(handing work out) · dask_table (dask's arrays and DataFrames) · file_parts (a file that workers read).
"""
