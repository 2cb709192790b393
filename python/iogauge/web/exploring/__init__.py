"""What the view that explores figures shows: charts of figures and of SQL's answers, columns in words, queries."""
