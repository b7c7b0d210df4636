"""Networks that turn pictures into features, one file each."""
