"""What people do: approve, pause, bring a priority file, replay a decision."""
