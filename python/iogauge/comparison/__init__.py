"""Reviews side by side: which steps pair up, how much they differ, what follows, and how near published figures are."""
