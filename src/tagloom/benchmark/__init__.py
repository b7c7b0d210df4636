"""Hide labels of a data set, let every learner recover them, and compare the results."""
