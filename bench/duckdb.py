"""What DuckDB does in the benchmarks: duckdb.py QUERY INPUT OUTPUT THREADS TEMPORARY [MEMORY or PATTERN]."""
import sys
import duckdb

query, source, output, threads, temporary = sys.argv[1:6]
more = sys.argv[6] if len(sys.argv) > 6 else ""
lines = f"""read_csv('{source}', columns={{'line': 'VARCHAR'}}, header=false, auto_detect=false, delim='\x01', quote='',
    escape='', strict_mode=false, max_line_size=20000000)"""
db = duckdb.connect()
db.execute(f"SET threads={threads}; SET temp_directory='{temporary}'; SET preserve_insertion_order=false")
pattern = more.replace("'", "''")
if query == "sort" and more:
    db.execute(f"SET memory_limit='{more}'")
text = {
    "wordcount": f"""SELECT word, count(*)
        FROM (SELECT unnest(string_split(translate(line, chr(9) || chr(12), '  '), ' ')) AS word FROM {lines})
        WHERE word <> '' GROUP BY word ORDER BY word""",
    "words": f"""SELECT word, count(*) FROM (SELECT unnest(string_split(line, ' ')) AS word FROM {lines})
        WHERE word <> '' GROUP BY word ORDER BY word""",
    "grep": f"""SELECT count(*) AS n, match
        FROM (SELECT unnest(regexp_extract_all(line, '{pattern}')) AS match FROM {lines}
        WHERE regexp_matches(line, '{pattern}')) WHERE match <> '' GROUP BY match ORDER BY n DESC, match""",
    "sort": f"SELECT line FROM {lines} ORDER BY line",
}[query]
db.execute(f"COPY ({text}) TO '{output}' (FORMAT csv, DELIMITER '\t', HEADER false, QUOTE '', ESCAPE '')")
