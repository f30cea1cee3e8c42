"""The index has the stems that the page's script asks for: of *grokking* both once had another."""

from sphinx.search.en import SearchEnglish


class English(SearchEnglish):
    """Porter's stems as the script forms them, with one k where Snowball leaves two."""

    def stem(self, word):
        """The stem of a word."""
        stem = super().stem(word)
        return stem[:-1] if stem.endswith("kk") and stem != word.lower() else stem


def setup(app):
    """Take the place of Sphinx's English."""
    app.add_search_language(English)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
