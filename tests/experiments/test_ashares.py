"""A-shares: prices that are left out or carried forward, sectors that become clusters, a table of both readings."""

import numpy as np
import pytest
from stand_ins import records, settings, write_shares

from nard.experiments import ashares
from nard.experiments.datasets import load_prices, share_windows
from nard.experiments.synthetic import NARDS

pytest.importorskip("pyarrow", reason="a parquet file needs pyarrow: pip install 'nard[experiments]'")


def test_prices(tmp_path):
    prices, dropped = load_prices(write_shares(tmp_path / "daily.parquet"))
    assert dropped == ["000999"]
    close = prices["close"]["600003"]
    assert close.iloc[50] == close.iloc[51] == close.iloc[49] != close.iloc[52]
    X, Y, naive = share_windows(prices, "prices")
    assert X.shape == (195, 200)
    assert X["600001 open −5"].iloc[0] == prices["open"]["600001"].iloc[0]
    assert Y["600001"].iloc[0] == prices["open"]["600001"].iloc[5]
    assert naive["600001"].iloc[0] == X["600001 close −1"].iloc[0]
    X, Y, naive = share_windows(prices, "changes")
    assert X.shape == (195, 190)
    assert not naive.any(axis=None)
    assert Y["600001"].iloc[0] == pytest.approx(
        np.log(prices["open"]["600001"].iloc[5] / prices["close"]["600001"].iloc[4])
    )


def test_clusters_are_the_sectors():
    covariance = np.full((12, 12), 0.1)
    for k in range(4):
        covariance[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = 0.7
    np.fill_diagonal(covariance, 1.0)
    mixed = np.random.default_rng(0).permutation(12)
    order, cluster = ashares.clusters(covariance[np.ix_(mixed, mixed)])
    assert sorted(order.tolist()) == list(range(12))
    assert len({(mixed[i] // 3, cluster[i]) for i in range(12)}) == 4


def test_both_readings(tmp_path):
    file = write_shares(tmp_path / "daily.parquet")
    found = records(ashares, settings(ashares=file), lambda spec: spec["method"] in (*NARDS, "mrce"))
    table = ashares.table(found)
    assert table["why_not"].isna().all()
    assert (table["m"] == 10).all()
    assert table["d"].tolist() == [200] * 5 + [190] * 5
    sequential = table[table["method"] == "Sequential NARD"]
    assert sequential["by_chance"].between(0, 1).all()
    # Next morning's price is nearly last night's.
    assert (table["held_out_error"][:4] < 0.5).all()
    assert table["paper_associations"].notna().tolist() == [True] * 5 + [False] * 5
    assert any("changes, 10 stocks: NARD variants with MRCE" in line for line in ashares.remarks(table))
    assert set(ashares.figure(table, found)) == {"ashares_prices", "ashares_changes"}


def test_all_stocks_once_and_a_tenth_for_the_others():
    specs = ashares.runs(settings(1, ashares="somewhere"))
    assert [spec["name"] for spec in specs if spec["stocks"] is None] == ["prices-all-sequential"]
    assert {spec["stocks"] for spec in specs} == {None, 173}
    found = records(ashares, settings())
    assert ashares.remarks(ashares.table(found)) == ["No result: no data: set `paper.files.ashares` in the config."]
