"""The index and the page over many saved reviews."""
