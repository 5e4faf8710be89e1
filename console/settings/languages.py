"""Languages of the pages (docs/languages.md). Another one is a line here and a catalogue in locale/."""

from console.settings.env import BASE_DIR

LANGUAGE_CODE = "en"
# Each under its own name: whoever looks for it need not know the one that is set.
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
LANGUAGE_COOKIE_NAME = "language"
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_HTTPONLY = True
