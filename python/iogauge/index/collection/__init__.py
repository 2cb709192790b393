"""Collections: the figures of any number of reviews as Parquet files, in a directory or an object store.

``collect`` adds reviews to one; an ``Index`` reads it as it reads a directory of reviews. A collection is a copy: the
reviews stay where they are.
"""
