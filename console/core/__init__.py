"""What all apps use and that knows none of them: middleware, htmx, the page's context. No models.

May import: no other app.
"""
