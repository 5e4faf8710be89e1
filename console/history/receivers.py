"""What every cycle leads to here."""
