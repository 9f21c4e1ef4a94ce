"""Dask collections: functions of chunks of rows, mapped and summed.

Dask is not imported before a Dask collection is passed. Another engine would need its
own `chunks` and `collections`.
"""
