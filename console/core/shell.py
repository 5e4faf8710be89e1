"""Who is at the keyboard, for what is done from the command line."""

import getpass
import os


def shell_actor() -> str:
    """What the audit log calls somebody at the shell: `shell:root`; no account has a colon in its name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in some containers
        name = f"uid-{os.getuid()}"
    return f"shell:{name}"
