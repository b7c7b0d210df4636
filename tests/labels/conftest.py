from hypothesis import settings

# On a busy machine the first draw of a strategy can be slow: a deadline would test the machine.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
