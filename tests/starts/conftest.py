"""The console on a simulated cluster, as in tests of steering, or with a house full of rows, as in those of pages."""

from tests.steering.conftest import sim
from tests.ui.conftest import house, house_of_the_module, signed_in

__all__ = ["house", "house_of_the_module", "signed_in", "sim"]
