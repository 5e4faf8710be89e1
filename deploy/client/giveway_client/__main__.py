"""`python -m giveway_client`."""

from giveway_client.command import run

run()
