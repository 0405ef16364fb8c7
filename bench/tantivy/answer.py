"""Lines of JSON: chunks as [title, body] up to null, then lists of queries, each answered by its times in ms."""
import json
import sys
import time

import tantivy

builder = tantivy.SchemaBuilder()
for field in ("title", "body"):
    builder.add_text_field(field, stored=False, tokenizer_name="whitespace")
schema = builder.build()
index = tantivy.Index(schema)
writer = index.writer()


def say(value):
    print(json.dumps(value), flush=True)


def query_of(words):
    should = tantivy.Occur.Should
    parts = []
    for word in words:
        title = tantivy.Query.boost_query(tantivy.Query.term_query(schema, "title", word), 3.0)
        parts += [(should, title), (should, tantivy.Query.term_query(schema, "body", word))]
    return tantivy.Query.boolean_query(parts)


searcher = None
for line in sys.stdin:
    value = json.loads(line)
    if searcher is None and value is not None:
        writer.add_document(tantivy.Document(title=value[0], body=value[1]))
    elif searcher is None:
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        searcher = index.searcher()
        say("ready")
    else:
        times, matches = [], 0
        for query in [query_of(words) for words in value]:
            started = time.perf_counter()
            found = searcher.search(query, limit=20, count=True)
            times.append((time.perf_counter() - started) * 1000)
            matches += found.count
        say({"times": times, "matches": matches})
