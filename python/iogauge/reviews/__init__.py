"""A review from its plan to its last step: plan, order, estimate, run, resume, lengthen, or read what others ran."""
