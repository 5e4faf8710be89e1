"""A real installation: nothing has an insecure default; what is missing stops the start."""

from console.settings.base import *  # noqa: F403
from console.settings.base import REST_FRAMEWORK as API
from console.settings.env import env, refuse_faults
from console.settings.logs import configure_logging

refuse_faults()
configure_logging(json=env.bool("LOG_JSON", default=True), level=env.str("LOG_LEVEL", default="INFO"))

DEBUG = False
SECRET_KEY = env.str("SECRET_KEY")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[f"https://{host}" for host in ALLOWED_HOSTS])
SECURE_SSL_REDIRECT = True
# Asked from beside the web server, past the proxy that speaks https.
SECURE_REDIRECT_EXEMPT = [r"^(livez|readyz|metrics|healthz/cycle|healthz/web)$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
REST_FRAMEWORK = {**API, "NUM_PROXIES": 1}
SECURE_HSTS_SECONDS = 31536000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
