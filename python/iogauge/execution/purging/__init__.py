"""Purges a target: by a discard, or by an NVMe drive's own format or sanitize."""
