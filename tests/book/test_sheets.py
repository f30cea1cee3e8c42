"""Of a sheet, what no page can use is left out, and all else stays as it was."""

import pytest
from sheets import trimmed, words_of

PAGE = '<div class="note wide-box" id="top"><p class="w-50%">Words</p></div>'


@pytest.mark.parametrize(
    "rule, left",
    [
        (".note p{margin:0}", ".note p{margin:0}"),
        (".note .absent,#top>p,div.absent{margin:0}", "#top>p{margin:0}"),
        ("#absent{margin:0}", ""),
        (".wide-box:not(.absent){margin:0}", ".wide-box:not(.absent){margin:0}"),
        (":is(.absent,p)[data-x]::before{margin:0}", ":is(.absent,p)[data-x]::before{margin:0}"),
        (r".w-50\%{width:50%}", r".w-50\%{width:50%}"),
        ("@media print{.absent{margin:0}.note{margin:0}}", "@media print{.note{margin:0}}"),
        ("@media print{.absent{margin:0}}", ""),
        ("p{--a:1;--b:0;margin:var(--b)}", "p{--b:0;margin:var(--b)}"),
        ("p{--a:var(--b);margin:0}div{--b:url(a;b)}", "p{margin:0}"),
        ("@keyframes more{from{margin:0}}", "@keyframes more{from{margin:0}}"),
        ('@font-face{font-family:"Font Awesome 6 Free";src:url(a.woff2)}', ""),
        ('@font-face{font-family:"Other";src:url(a.woff2)}', '@font-face{font-family:"Other";src:url(a.woff2)}'),
    ],
)
def test_rules_that_no_page_can_use_are_left_out(rule, left):
    assert trimmed(rule, frozenset(words_of(PAGE))) == left
