"""The small house of the pages' tests, attacked."""

from tests.ui import conftest as ui

house_of_the_module = ui.house_of_the_module
house = ui.house
signed_in = ui.signed_in
ada = ui.ada
