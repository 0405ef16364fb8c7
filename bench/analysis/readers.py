"""Opens a Parquet file by pyarrow, pandas, polars and DuckDB, and compares the number of rows."""
import sys

import duckdb
import pandas
import polars
import pyarrow.parquet

path, rows = sys.argv[1], int(sys.argv[2])
counts = {
    "pyarrow": pyarrow.parquet.read_table(path).num_rows,
    "pandas": len(pandas.read_parquet(path)),
    "polars": len(polars.read_parquet(path)),
    "DuckDB": len(duckdb.sql(f"select * from '{path}'").fetchall()),
}
wrong = {name: count for name, count in counts.items() if count != rows}
print(f"{rows} rows by {', '.join(counts)}" if not wrong else f"NOT {rows} ROWS: {wrong}")
