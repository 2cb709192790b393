"""Performance side by side with a peer: interleaved pairs, judged as ratios, saved with the facts of the machine.

No benchmark fails: a figure below its goal is printed and saved. See bench/README.md.
"""
