"""Drive and machine models: listed, described, copied, fitted, compared with published figures, served by NBD."""
