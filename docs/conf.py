"""How Sphinx builds the site: `make docs`, offline, every warning an error."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from sphinx.application import Sphinx  # noqa: E402

import tagloom  # noqa: E402

project = "tagloom"
author = "The tagloom developers"
copyright = author  # noqa: A001 (the name that Sphinx asks for)
release = tagloom.__version__
version = ".".join(release.split(".")[:2])

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "commands",
    "docstrings",
    "mathml",
    "project_files",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "gallery/*.ipynb", "gallery/*.py", "sg_execution_times.rst"]
# Single backquotes in docstrings name objects of Python; what is none is shown as code.
default_role = "py:obj"

# Fences without a language are output of programs.
highlight_language = "none"
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autodoc_default_options = {"member-order": "bysource"}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "gallery_order.Order",
    "download_all_examples": False,
    "show_memory": False,
    # The page of times would load scripts from other hosts.
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "copyfile_regex": r".*\.md",
}

html_theme = "pydata_sphinx_theme"
html_title = "tagloom"
html_static_path = ["_static"]
html_css_files = ["tagloom.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "tagloom"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"faq": [], "install": []}


def setup(app: Sphinx) -> None:
    """Leave out files of the theme that no page uses."""
    app.connect("build-finished", remove_unused_files)


def remove_unused_files(app: Sphinx, problem: Exception | None) -> None:
    """Remove source maps and templates of the theme; some name other hosts."""
    static = Path(app.outdir) / "_static"
    for path in [*static.rglob("*.map"), static / "webpack-macros.html"]:
        path.unlink(missing_ok=True)
