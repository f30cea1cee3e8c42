"""Keeps the theme to what this book uses: no sphinx-thebe, and no button that leads nowhere."""


def hide_dead_buttons(app, config):
    """Drop the launch and repository buttons while the public address is unknown."""
    options = config.html_theme_options
    if not options.get("repository_url"):
        options.update(launch_buttons={}, use_repository_button=False)


def drop_thebe(app, pagename, templatename, context, doctree):
    """Take out sphinx-thebe's scripts, which name another host and are linked twice."""

    def is_thebe(script):
        return "thebe" in f"{getattr(script, 'filename', script)} {getattr(script, 'attributes', '')}".lower()

    context["script_files"] = [script for script in context.get("script_files", []) if not is_thebe(script)]


def setup(app):
    """Connect the two clean-ups to Sphinx."""
    app.connect("config-inited", hide_dead_buttons, priority=900)
    app.connect("html-page-context", drop_thebe, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
