"""The order of the gallery: what most come for first, then by file name."""

#: Files that are not named here follow by themselves.
FIRST = (
    "shrink_a_forest",
    "how_many_members",
    "weigh_trained_models",
    "smaller_autogluon",
    "ep_against_greedy",
    "which_members",
    "look_inside",
    "probabilities_to_bet_on",
    "intervals_without_more_data",
    "which_expert_where",
    "grow_until_the_evidence_stops",
    "compare_methods",
    "prune_boosters",
    "from_500_trees_to_a_microcontroller",
    "kernel_machine_for_100000_rows",
)


class Order:
    """The key by which sphinx-gallery sorts the files of a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return the place in the list, then the name."""
        name = filename.removesuffix(".py")
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)
