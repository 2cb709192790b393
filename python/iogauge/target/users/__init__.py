"""Who uses a target: mounts, loop devices, overlays, processes that have it open, and locks."""
