"""Hide labels, run every learner, tables and figures."""
