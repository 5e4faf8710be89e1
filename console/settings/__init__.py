"""Settings: `base` for all, `local` (embedded defaults), `test`, `production`. `env` reads the environment.

May import: `console.core.environment` at most: no app is loaded yet.
"""
