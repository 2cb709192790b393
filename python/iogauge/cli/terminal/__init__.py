"""What commands share at the terminal: streams, progress, signals, exit statuses and questions."""
