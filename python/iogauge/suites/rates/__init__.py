"""What a drive serves at which rate: the most that keeps a limit, and latency from a tenth of the most to all of it."""
