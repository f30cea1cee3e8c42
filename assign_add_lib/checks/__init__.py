"""Checks: the numbers that the prose quotes, and one check for each exercise, in a module for each chapter.

A check tries the learner's function on fresh random input, compares it with an independent truth, and prints in words
whether it is right, or what is wrong.  The functions of a chapter's module raise what is wrong; here they become checks that
print it.  The module is imported when its first check is asked for.
"""

from importlib import import_module

_CHECKS = {
    "chapter_01": "informed numbers_to_add one_look_score tenth_set",
    "chapter_02": "normalised_scores put_back turned typical_score",
    "chapter_03": "first_step informed_score phase_starts share_of_half",
    "chapter_04": "both_or_none evidence renamed",
    "chapter_05": "assigned_twice blurred breaks same_variable",
    "chapter_06": "alone points proof_applies sharing",
    "chapter_07": "doubles moved_on singles_out weighted",
    "chapter_08": "flat_restored place_blind separated with_directions",
    "chapter_09": "rival scrubbed swapped told",
    "chapter_10": "mass_without_mark mended smaller_network three",
    "chapter_11": "by_exclusion guilty one_lever",
    "chapter_12": "least_share shared soon",
    "chapter_13": "enough_step fair number_operand sure_share",
    "chapter_14": "hard mended_after own_errors",
    "chapter_15": "features few_examples gap other_modules",
    "chapter_16": "likely matches_that_say without_ratios",
    "chapter_17": "bound own_world seeds_needed",
    "chapter_18": "between least_mixture worst",
    "common": "guess report",
}
_HOMES = {name: module for module, names in _CHECKS.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name: str):
    """Import a check where it is first asked for: together they know the whole book."""
    if name not in _HOMES:
        raise AttributeError(f"there is no check {name}")
    found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if _HOMES[name] != "common":
        found = import_module(".common", __name__).exercise(found)
    return globals().setdefault(name, found)


def __dir__() -> list[str]:
    return __all__
