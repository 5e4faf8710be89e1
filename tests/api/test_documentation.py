"""docs/api.md: its examples are run as they stand, and its tables are complete."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from console.api import urls
from tests.api import conftest as api
from tests.api.conftest import House
from tests.factories import PASSWORD

house = api.own_house
DOCUMENT = Path(__file__).parents[2] / "docs" / "api.md"


def examples() -> str:
    """All shell examples in the order of the document, but for the first, which says where the console is."""
    blocks = re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    return "\n".join(blocks[1:])


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed: apt-get install curl")
@pytest.mark.django_db(transaction=True)
def test_the_examples_work_as_they_stand(house: House, live_server: Any, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "GIVEWAY": f"{live_server.url}/api/v1",
        "PASSWORD": PASSWORD,
        "no_proxy": "*",
    }
    script = f"set -e -o pipefail\n{examples()}"
    done = subprocess.run(
        ["bash", "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"username":"ada"' in done.stdout and '"urgency":5.0' in done.stdout
    assert '"revision":2,"enforcement":"enforce"' in done.stdout
    assert '"dry_run":true,"differences":[]' in done.stdout
    assert not type(house.alpha).objects.filter(code="alpha").exists()


def test_every_address_is_in_the_document() -> None:
    text = DOCUMENT.read_text()
    for pattern in urls.urlpatterns[:-1]:
        path = re.sub(r"<\w+:(\w+)>", r"{\1}", str(pattern.pattern)).replace("{pk}", "{id}")
        assert path in text or path.replace("partitions/{name}/revisions", "…") in text, path


def test_every_filter_is_in_the_document() -> None:
    text = DOCUMENT.read_text()
    for pattern in urls.urlpatterns:
        view: Any = pattern.callback
        filters = getattr(view.cls, "filterset_class", None)
        if filters is not None:
            assert f"`{' '.join(filters.base_filters)}`" in text, pattern.name
