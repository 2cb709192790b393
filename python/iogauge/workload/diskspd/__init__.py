"""Reads DiskSpd's command lines as jobs, and writes jobs as DiskSpd's command lines and PowerShell scripts."""
