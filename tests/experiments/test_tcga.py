"""The cancers: the finding of the paper's text, per cancer, and what is said of those without data."""

import pytest
from stand_ins import records, settings, write_tcga

from nard.experiments import tcga
from nard.project.chapters import chapter_figures


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = write_tcga(tmp_path_factory.mktemp("tcga"))
    return records(tcga, settings(tcga=folder), lambda spec: spec["method"] in ("sequential", "hybrid"))


def test_the_finding_is_looked_up(found):
    table = tcga.table(found)
    main = table[table["method"] == "Sequential NARD"].set_index("cancer")
    assert main.index.tolist() == list(tcga.CANCERS)
    assert main.loc[["COAD", "LUAD"], "gsk3_akt_found"].tolist() == [True, True]
    assert (main.loc[["COAD", "LUAD"], "gsk3_akt_low"] > 0).all()
    assert main.loc["COAD", ["n", "d", "m", "paper_n", "paper_d"]].tolist() == [150, 73, 77, 338, 73]
    assert "no data: there is no" in main.loc["OV", "why_not"]
    lines = tcga.remarks(table)
    assert "GSK3ALPHABETAPS21S9 – AKTPS473 is found (q ≤ 0.05) in 2 of 2 cancers: COAD, LUAD." in lines
    assert any(line.startswith("Hybrid NARD and Sequential NARD agree") for line in lines)


def test_figures(found):
    assert set(tcga.figure(tcga.table(found), found)) == set(chapter_figures("tcga"))


def test_no_files():
    found = records(tcga, settings())
    table = tcga.table(found)
    assert tcga.remarks(table) == ["No result: no data: set `paper.files.tcga` in the config."]
    assert set(tcga.figure(table, found)) == set(chapter_figures("tcga"))


def test_real_finding_in_luad(real_data):
    """Two antibodies of the same proteins take the relation away; without them it is there."""
    folder = str(real_data / "tcga")
    found = records(tcga, settings(tcga=folder), lambda spec: spec["name"] == "LUAD-sequential")
    row = tcga.table(found).iloc[0]
    assert row["gsk3_akt_residual_correlation"] > 0.5
    assert row["gsk3_akt_qvalue"] > 0.05 > row["without_copies_qvalue"]
