"""Jobs ask for memory, kinds of GPU, features, named nodes, whole nodes: only those who hold that are stopped."""

from deploy.private_slurm import PrivateSlurmError
from scheduler.model.reasons import Reason
from tests.e2e.slurm_driver import Driver
from tests.e2e.test_slurm_as_it_is.conftest import MARKS, Scene

pytestmark = MARKS

NODES = ("n1", "n2", "n3", "n4")


def _full(driver: Driver, *more: str) -> None:
    """A low job of eight CPUs on each node, named after it."""
    for node in NODES:
        driver.running("ann", node, "-p", "wide", "-w", node, "-n", "1", "-c", "8", "--mem=1000", *more)


def test_memory(scene: Scene, driver: Driver) -> None:
    scene.policy()
    driver.running("ann", "much_memory", "-p", "x", "-n", "1", "--mem=12000")
    driver.running("ann", "little_memory", "-p", "x", "-n", "1", "-c", "4", "--mem=100")
    driver.submit("cy", "urgent", "-p", "x", "-n", "1", "--mem=10000")

    driver.steer_until_running("urgent")

    assert driver.stopped() == {"much_memory"}


def test_tasks_have_their_memory_where_their_cpus_are(scene: Scene, driver: Driver) -> None:
    """n3 has CPUs to spare and no memory, n4 memory and no CPUs: together that is no room for four tasks."""
    scene.policy("q")
    driver.running("ann", "much_memory", "-p", "q", "-w", "n3", "-n", "1", "--mem=15500")
    driver.running("ann", "many_cpus", "-p", "q", "-w", "n4", "-n", "1", "-c", "8", "--mem=1000")
    driver.submit("cy", "tasks", "-p", "q", "-n", "4", "--mem-per-cpu=1000")

    driver.steer_until_running("tasks")

    assert len(driver.stopped()) == 1


def test_a_node_that_is_kept_for_its_user(scene: Scene, driver: Driver) -> None:
    """Seven CPUs of n1 are free, for ann alone, until her job that keeps the node has gone; the other one may stay."""
    scene.policy()
    one = ("-p", "x", "-n", "1", "--mem=10")
    driver.running("ann", "beside", *one)
    driver.running("ann", "keeps_it", *one, "--exclusive=user")
    driver.submit("cy", "urgent", *one)

    driver.steer_until_running("urgent")

    assert driver.stopped() == {"keeps_it"}


def test_kinds_of_gpu(scene: Scene, driver: Driver) -> None:
    """n1 and n2 have a100s, n3 and n4 v100s. Who asks for any GPUs got what was there."""
    scene.policy("wide")
    one = ("-p", "wide", "-N", "1", "-n", "1", "--mem=10")
    driver.running("ann", "any_kind_n1", *one, "-w", "n1", "--gres=gpu:8")
    driver.running("bob", "equal_n2", *one, "-w", "n2", "--gres=gpu:a100:8")
    driver.running("ann", "v100s_n3", *one, "-w", "n3", "--gres=gpu:v100:8")
    driver.running("ann", "v100s_n4", *one, "-w", "n4", "--gpus=v100:8")
    driver.submit("cy", "a100s", *one, "--gres=gpu:a100:2")

    driver.steer_until_running("a100s")
    assert driver.stopped() == {"any_kind_n1"}

    driver.submit(
        "cy", "many_v100s", "-p", "wide", "-N", "2", "-n", "2", "--mem=10", "--gpus-per-node=v100:5"
    )
    driver.steer_until_running("many_v100s")
    assert driver.stopped() == {"any_kind_n1", "v100s_n3", "v100s_n4"}


def test_features_named_and_excluded_nodes(scene: Scene, driver: Driver) -> None:
    scene.policy("wide")
    _full(driver)
    one = ("-p", "wide", "-n", "1", "-c", "3", "--mem=10")

    driver.submit("cy", "named", *one, "--nodelist=n2")
    driver.steer_until_running("named")
    assert driver.stopped() == {"n2"}

    # n2 has five CPUs to spare now, but not for these two.
    driver.submit("cy", "feature", *one, "--constraint=v100", "--exclude=n4")
    driver.steer_until_running("feature")
    assert driver.stopped() == {"n2", "n3"}

    driver.submit("cy", "excluding", *one, "--exclude=n[1-3]")
    driver.steer_until_running("excluding")
    assert driver.stopped() == {"n2", "n3", "n4"}


def test_a_whole_node(scene: Scene, driver: Driver) -> None:
    """One CPU is asked for, but alone on the node: both jobs of one node go, nobody of the others."""
    scene.policy("q")
    two = ("-p", "q", "-n", "1", "-c", "2", "--mem=10")
    driver.running("bob", "equal", *two, "-w", "n3")
    for name in ("low1", "low2"):
        driver.running("ann", name, *two, "-w", "n4")
    driver.running("ann", "low3", *two, "-w", "n3")
    driver.submit("cy", "alone", "-p", "q", "-n", "1", "--exclusive", "--mem=10")

    driver.steer_until_running("alone")

    assert driver.stopped() == {"low1", "low2"}


def test_several_nodes_with_uneven_shares(scene: Scene, driver: Driver) -> None:
    """Ten CPUs on two nodes, four on one and six on the other: which is which decides whether stopping helps."""
    scene.policy("q")
    driver.running("bob", "equal", "-p", "q", "-w", "n3", "-n", "1", "-c", "4", "--mem=10")
    driver.running("ann", "uneven", "-p", "q", "-N", "2", "-n", "10", "--mem-per-cpu=10")
    driver.running("ann", "small", "-p", "q", "-w", "n4", "-n", "2", "--mem=10")
    shares = driver.slurm.run(["scontrol", "-d", "-o", "show", "job", driver.ids["uneven"]]).stdout
    assert shares.count("CPU_IDs=") == 2  # told per node, because they differ
    driver.submit("cy", "too_large", "-p", "q", "-w", "n3", "-n", "1", "-c", "5", "--mem=10")
    driver.steer_quietly(3)
    assert driver.stopped() == set()
    driver.cancel("too_large")

    driver.submit("cy", "urgent", "-p", "q", "-n", "1", "-c", "6", "--mem=10")
    driver.steer_until_running("urgent")

    assert driver.stopped() == {"uneven"}


def test_tasks_of_several_cpus_without_a_number_of_nodes(scene: Scene, driver: Driver) -> None:
    scene.policy("q")
    for node in ("n3", "n4"):
        driver.running("ann", node, "-p", "q", "-w", node, "-n", "1", "-c", "6", "--mem=10")
    driver.submit("cy", "urgent", "-p", "q", "-n", "2", "-c", "4", "--mem-per-cpu=10")

    driver.steer_until_running("urgent")

    assert len(driver.stopped()) == 1


def test_partitions_that_share_nodes(scene: Scene, driver: Driver) -> None:
    """n1 is in x and in wide: what a job of wide holds there is not x's to give."""
    scene.policy("x")
    half = ("-w", "n1", "-n", "1", "-c", "4", "--mem=10")
    driver.running("ann", "of_x", "-p", "x", *half)
    driver.running("ann", "of_wide", "-p", "wide", *half)
    driver.submit("cy", "too_large", "-p", "x", "-n", "1", "-c", "5", "--mem=10")
    driver.steer_quietly(3)
    assert driver.reason("too_large") == Reason.NOT_ENOUGH_EVEN_SO
    driver.cancel("too_large")

    driver.submit("cy", "urgent", "-p", "x", "-n", "1", "-c", "4", "--mem=10")
    driver.steer_until_running("urgent")

    assert driver.stopped() == {"of_x"}


def test_one_feature_or_another(scene: Scene, driver: Driver) -> None:
    """Such a job never got room. n1 and n2 are held by somebody equal, n3 and n4 by lower jobs."""
    scene.policy("wide")
    whole = ("-p", "wide", "-n", "1", "-c", "8", "--mem=1000")
    for node in NODES:
        driver.running("bob" if node in {"n1", "n2"} else "ann", node, *whole, "-w", node)

    driver.submit("cy", "either", "-p", "wide", "-n", "1", "-c", "3", "--mem=10", "--constraint=a100|v100")
    driver.steer_until_running("either")
    (first,) = driver.stopped()
    assert first in {"n3", "n4"}

    two = ("-p", "wide", "-N", "2", "-n", "2", "-c", "4", "--mem=10")
    driver.submit("cy", "two_alike", *two, "--constraint=[a100|v100]")
    driver.steer_until_running("two_alike")
    assert driver.stopped() == {"n3", "n4"}


def test_so_many_nodes_with_each_feature(scene: Scene, driver: Driver) -> None:
    scene.policy("wide")
    whole = ("-p", "wide", "-n", "1", "-c", "8", "--mem=1000")
    for node in NODES:
        driver.running("bob" if node in {"n2", "n4"} else "ann", node, *whole, "-w", node)

    two = ("-p", "wide", "-N", "2", "--ntasks-per-node=1", "-c", "4", "--mem=10")
    driver.submit("cy", "one_of_each", *two, "--constraint=[a100*1&v100*1]")
    driver.steer_until_running("one_of_each")
    assert driver.stopped() == {"n1", "n3"}


def test_nobody_is_stopped_for_gpus_that_no_node_has(scene: Scene, driver: Driver) -> None:
    """24.11 and 26.05 let it wait for ever: the same jobs were stopped for it again and again."""
    scene.policy("wide")
    for node in NODES:
        driver.running("ann", node, "-p", "wide", "-w", node, "-N", "1", "--mem=1000", "--gres=gpu:8")

    try:
        driver.submit("cy", "too_many_gpus", "-p", "wide", "-n", "1", "--mem=10", "--gpus=12")
    except PrivateSlurmError as error:
        assert "Requested node configuration is not available" in str(error)  # noqa: PT017 - 22.05 refuses it
        return
    driver.steer_quietly(8)
    assert driver.stopped() == set()
    assert driver.reason("too_many_gpus") == Reason.DOES_NOT_FIT_EVER
