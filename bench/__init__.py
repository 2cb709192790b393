"""Performance, side by side with a peer: interleaved pairs in one run, judged as ratios, kept with the machine's facts.

Nothing here is a test: a figure below its goal is printed and kept, and fails nothing. See bench/README.md.
"""
