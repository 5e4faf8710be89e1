"""Settings: `base` for all, `local` (embedded defaults), `test`, `production`. `env` reads the environment."""
