"""Formulas as MathML, which browsers draw by themselves: no script, no fonts, no LaTeX.

Docutils translates the LaTeX. Sphinx's own renderers need MathJax, 5 MB of scripts and fonts, or an
installation of LaTeX.
"""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer, and choose it."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, with its number if it has a label."""
    translator.body.append(translator.starttag(node, "div", CLASS="formula"))
    if node.get("number"):
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append(tex2mathml(node.astext(), as_block=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode
