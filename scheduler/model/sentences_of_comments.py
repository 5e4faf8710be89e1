"""The lines about what a job's comment says of it, and what that lets be done: making it smaller and larger again.

Part of `scheduler.model.sentences` (scheduler/priority/comment.py, console/cluster/elastic.py).
"""

OF_COMMENTS: dict[str, str] = {
    "comment.capitals": "%(word)s: write %(right)s in small letters. Until then it changes nothing.",
    "comment.elastic.form": (
        "%(word)s is not understood; write for example elastic:min=2,wish=4. The job counts as not elastic."
    ),
    "comment.elastic.part": (
        "elastic: “%(part)s” is not understood; known are min=, wish= and how=. The job counts as not elastic."
    ),
    "comment.elastic.twice": "elastic: %(key)s stands twice; keep one. The job counts as not elastic.",
    "comment.elastic.number": (
        "elastic: %(key)s=%(value)s is no number of workers; write 1 or more. The job counts as not elastic."
    ),
    "comment.elastic.no_min": (
        "elastic: min is missing; write for example elastic:min=2,wish=4. The job counts as not elastic."
    ),
    "comment.elastic.crossed": (
        "elastic: min=%(least)s is more than wish=%(wish)s; make min the smaller one. The job counts as not elastic."
    ),
    "comment.elastic.how": (
        "elastic: how=%(value)s is not known; choose tasks, inplace or restart. The job counts as not elastic."
    ),
    "comment.elastic.many": "elastic stands there more than once; keep one. The job counts as not elastic.",
    "comment.group.many": "group= stands there with several names; keep one. The job counts alone.",
    "comment.group.name": (
        "group=%(value)s is no name of a group; take up to 64 letters, digits, _ . : or -. The job counts alone."
    ),
    "comment.partial": "%(word)s is not understood; only partial=no says something. It changes nothing.",
    "comment.balanced": "%(word)s is not understood; write balanced alone. It changes nothing.",
    "resize.untried": (
        "On this version of the cluster it was not tried to give a waiting job another number of nodes."
    ),
    "resize.uneven": (
        "Its %(tasks)s tasks and %(cpus)s CPUs on %(nodes)s nodes do not come out even on %(wanted)s nodes."
    ),
    "resize.no_nodes": "It asks for %(tasks)s tasks wherever there is room, not for a number of nodes.",
    "resize.not_held": "It does not wait held: only a job that was put back and is held gets another number of nodes.",
    "resize.as_a_whole": (
        "It asks for %(what)s as a whole, not for each node; with other nodes it would hold as much as before."
    ),
    "resize.part": "It is a part of a heterogeneous job, whose parts are not resized one by one.",
    "begin.part": "It is a part of an array or of a heterogeneous job, whose parts have no begin time of their own.",
    "release.held_by_user": "Its user holds it; that hold stays.",
    "release.held_by_admin": "An administrator holds it; that hold stays.",
    "begin.theirs": "Its begin time was set by its user, or by Slurm.",
    "begin.no_room": "What others keep in its AdminComment leaves no room for a mark.",
    "resize.not_in_place": "This cluster takes no nodes from a job that runs.",
    "resize.once": (
        "Without slurmdbd this version of Slurm takes nodes from a job only once in a run, and has done so."
    ),
    "resize.gres": (
        "It holds GPUs or other generic resources; slurmctld can die when such a job gives back nodes while it runs."
    ),
    "resize.first_node": "Its script runs on %(node)s, which it has to keep.",
    "resize.nodes": "It can only keep some of its own nodes, at least one and not all: it has %(nodes)s.",
    "resize.not_running": "It is %(state)s; only a job that plainly runs gives back nodes.",
    "resize.no_script": "It has no batch script: only batch jobs give back nodes.",
    "elastic.range": "%(least)s to %(wish)s workers (from its comment)",
    "elastic.least": "at least %(least)s workers (from its comment)",
    "elastic.range.type": "%(least)s to %(wish)s workers (from its task type)",
    "elastic.least.type": "at least %(least)s workers (from its task type)",
    "elastic.range.project": "%(least)s to %(wish)s workers (from its project)",
    "elastic.least.project": "at least %(least)s workers (from its project)",
    "elastic.now": "%(range)s, %(n)s now",
    "elastic.rigid": "Its workers are jobs of their own, which give way by how=tasks only: it counts as not elastic.",
    "elastic.alone": (
        "It is neither a task of an array nor a job of a group, and has no second node: it counts as not elastic."
    ),
    "elastic.gpus": "It holds GPUs or the like: it gives back nodes by a restart.",
    "elastic.taken": "%(job)s has its other workers; they come back when it ends.",
    "elastic.nodes_taken": (
        "It has %(n)s of %(m)s nodes. The others come back by a restart when %(job)s has ended, if that pays."
    ),
    "elastic.nodes_back": (
        "It has %(n)s of %(m)s nodes. The others come back by a restart when there is room, if that pays."
    ),
    "elastic.tasks": "It gives up tasks of its array, or jobs of its group.",
    "elastic.inplace": "It gives back nodes and goes on.",
    "elastic.restart": "It is put back and starts again on fewer nodes.",
}
