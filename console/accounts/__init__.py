"""Who is who: accounts, roles, permissions, signing in."""
