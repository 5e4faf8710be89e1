"""A real installation: nothing has an insecure default; what is missing stops the start."""

from console.core.files import take_for_ourselves
from console.settings.base import *  # noqa: F403
from console.settings.base import DATABASES, HOME
from console.settings.env import env, given, hosts, log_level, refuse_faults, secret_key
from console.settings.logs import configure_logging
from console.settings.sign_in import proxies

refuse_faults()
given("DATABASE_URL", "Name the database there: postgres://giveway:PASSWORD@127.0.0.1/giveway")
take_for_ourselves(HOME, DATABASES["default"])
configure_logging(json=env.bool("LOG_JSON", default=True), level=log_level("INFO"))

DEBUG = False
SECRET_KEY = secret_key("SECRET_KEY")
ALLOWED_HOSTS = hosts("ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[f"https://{host}" for host in ALLOWED_HOSTS])
SECURE_SSL_REDIRECT = True
# Asked from beside the web server, past the proxy that speaks https.
SECURE_REDIRECT_EXEMPT = [r"^(livez|readyz|metrics|healthz/cycle|healthz/web)$"]
# What the proxy says of the address and of https is believed of whoever comes through the Unix socket, or is named.
GIVEWAY_TRUSTED_PROXIES = proxies("GIVEWAY_TRUSTED_PROXIES", ["unix"])
SECURE_PROXY_SSL_HEADER = ("GIVEWAY_SCHEME", "https")
SECURE_HSTS_SECONDS = 31536000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
