"""The kinds of rows of the audit log, a module for each subject; `console.audit.registry` puts them together.

May import: nothing of the console but `console.core`.
"""
