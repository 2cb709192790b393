"""Running a review: plan, order, estimate, run, resume, lengthen, or import what another program ran."""
