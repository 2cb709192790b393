"""The feed of a running measurement: how it is written, and what others read of it.

A feed is a file of JSON lines in the user's runtime directory. The process that measures writes it (``feed.Feed``);
any other process of the same user finds it (``finding.feeds``), follows it (``reader.Reader``) and sums it up for a
screen (``state.State``). Nothing passes from a reader to the writer, so readers cannot slow a measurement.

Each line has ``seq`` (1, 2, 3 and so on), ``at`` (Unix seconds) and ``event``. The events and their fields:

* ``begin``: pid, start_ticks, command, title, review (path or None), targets, virtual, version;
* ``step``: label, number, steps, more, search, expected_s, ahead_s;
* ``rows``: rows, each with stage, row, name and asked_iops by direction;
* ``interval``: stage, row, start_s, end_s, ramp, and by direction ios, bytes, errors, mean_ns, p50_ns, p99_ns,
  p999_ns, p9999_ns, max_ns and bands (``figures.bands``);
* ``drive``: path, temperature_C, throttled, hot;
* ``steady``: row, name, attained, criterion, limit, unit;
* ``notice``: text, hint;
* ``step_end``: label, complete, text;
* ``end``: outcome (done, interrupted or failed), text.
"""
