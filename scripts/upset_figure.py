"""What the cancers share: an UpSet plot of associations or edges, of all pathways or of one."""

from nard.data.pathways import OTHER
from nard.figures.style import save_figure
from nard.figures.upset import plot_upset
from nard.files import read_json, read_tsv
from nard.fits.comparison import association_set, edge_set
from nard.palette import OTHER as OTHER_COLOUR
from nard.project.jobs import job
from nard.report.captions import origin

ACROSS = "between pathways"
ACROSS_COLOUR = "#5A5A5A"

if __name__ == "__main__":
    with job(snakemake.log[0]):
        what = snakemake.wildcards.get("what", "associations")
        members = association_set if what == "associations" else edge_set
        summaries = [read_json(path) for path in snakemake.input.summaries]
        pathway, colours = {}, {}
        for path in snakemake.input.groups:
            groups = read_tsv(path)
            outputs = groups[groups["side"] == "outputs"]
            pathway |= dict(zip(outputs["name"], outputs["pathway"], strict=True))
            colours |= dict(zip(outputs["pathway"], outputs["colour"], strict=True))
        colours.setdefault(OTHER, OTHER_COLOUR)
        colours[ACROSS] = ACROSS_COLOUR

        only = snakemake.params.get("pathways", {}).get(snakemake.wildcards.get("pathway"))
        contents, groups_of = {}, {}
        for summary, path in zip(summaries, snakemake.input.findings, strict=True):
            pairs = members(read_tsv(path))
            for source, target in pairs:
                same = what == "associations" or pathway[source] == pathway[target]
                groups_of[source, target] = pathway[target] if same else ACROSS
            contents[summary["title"]] = {pair for pair in pairs if only in (None, groups_of[pair])}
        title = "Gene → protein associations" if what == "associations" else "Protein – protein edges"
        figure = plot_upset(
            contents,
            groups_of,
            colours,
            title=f"{title} shared by the cancers" + (f": {only}" if only else ""),
            element_name=what,
            note=origin(summaries, snakemake.params.method),
        )
        save_figure(figure, list(snakemake.output))
