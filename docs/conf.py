"""Settings of the site: `make docs` builds it into docs/_build/html."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from ciabench import __version__  # noqa: E402

project = "ciabench"
author = "The ciabench developers"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "pages",
]
exclude_patterns = ["_*", "README.md"]
templates_path = ["_templates"]
default_role = "py:obj"

autosummary_generate = ["_public_names.rst"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "off"

html_theme = "pydata_sphinx_theme"
html_title = "ciabench"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {page: [] for page in ("index", "start", "commands", "promises", "changelog")}
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
copyright = "The ciabench developers. BSD 3-Clause license"
