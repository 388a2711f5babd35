# Writes notebooks as HTML pages that need nothing else. Arguments: MathJax's file,
# the folder for the pages, the notebooks. Prints a page's file when it is written.
import os
import re
import sys

import nbformat
from jinja2 import DictLoader
from nbconvert import HTMLExporter

mathjax, folder, *paths = sys.argv[1:]

# nbconvert's page without what it would load from the network: RequireJS and
# Mermaid, which nothing here uses, and MathJax, which comes inside.
PAGE = """
{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}
{%- if resources.mathjax %}
<script>
window.MathJax = {
  tex: {
    inlineMath: [["$", "$"], ["\\\\(", "\\\\)"]],
    displayMath: [["$$", "$$"], ["\\\\[", "\\\\]"]],
    processEscapes: true, processEnvironments: true, tags: "ams"
  },
  options: {enableMenu: false, skipHtmlTags: ["script", "noscript", "style", "textarea", "pre", "code"]},
  svg: {fontCache: "global", scale: 1}
};
</script>
<script>{{ resources.mathjax }}</script>
{%- endif %}
<style>
main { max-width: 1100px; margin: 0 auto; }
.jp-RenderedHTMLCommon img, .jp-OutputArea-output img { max-width: 100%; height: auto; }
</style>
{%- endblock -%}
"""


def formulas(notebook):
    """Whether some text has a formula."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            texts.append(output.get("data", {}).get("text/markdown", ""))
    return any(re.search(r"\$|\\\(|\\\[|\\begin\{", text) for text in texts)


def pages(text):
    """Text whose links to notebooks beside it lead to their pages."""
    return re.sub(r"""(\]\(|href=["'])([\w.-]+)\.ipynb(?=[)#"'])""", r"\1\2.html", text)


exporter = HTMLExporter(extra_loaders=[DictLoader({"page.html.j2": PAGE})], template_file="page.html.j2", embed_images=True)
for path in paths:
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = pages(cell.source)
    name, _ = os.path.splitext(os.path.basename(path))
    notebook.metadata["title"] = name
    # Pictures beside the notebook are looked for in its folder.
    resources = {"mathjax": "", "metadata": {"name": name, "path": os.path.dirname(os.path.abspath(path))}}
    if formulas(notebook):
        try:
            with open(mathjax, encoding="utf-8") as file:
                resources["mathjax"] = file.read()
        except FileNotFoundError:
            sys.exit(3)
    page, _ = exporter.from_notebook_node(notebook, resources=resources)
    target = os.path.join(folder, name + ".html")
    with open(target + ".part", "w", encoding="utf-8") as file:
        file.write(page)
    os.replace(target + ".part", target)
    print(target, flush=True)
