"""Reads an edge table by Apache Arrow and prints its number of rows and a digest of its content."""
import hashlib
import struct
import sys

import pyarrow.parquet as parquet

table = parquet.read_table(sys.argv[1])
columns = [table.column(name).to_pylist() for name in table.column_names]
digest = hashlib.sha256("\t".join(table.column_names).encode())
for row in zip(*columns):
    digest.update("\t".join(map(str, row[:-1])).encode() + struct.pack("<d", row[-1]))
print(table.num_rows, digest.hexdigest())
