"""Air quality: gaps, humidity, seasons and sites that make no relation, and intervals that hold the truth."""

import numpy as np
import pandas as pd
import pytest
from stand_ins import records, settings, write_air

from nard.experiments import air_quality
from nard.experiments.datasets import SITES, _bridged, _relative_humidity, air_days, load_air


def run(folder, *sites):
    return records(
        air_quality, settings(air_quality=folder), lambda spec: spec["method"] == "sequential" and spec["site"] in sites
    )


def test_a_real_relation_is_found_with_its_interval(tmp_path):
    found = run(write_air(tmp_path, humidity_effect=0.2), SITES, "North")
    table = air_quality.table(found)
    assert table["site"].tolist() == [SITES, "North"]
    assert (table["low"] > 0.3).all()
    assert table["selected"].all()
    assert ((table["low"] < table["partial_correlation"]) & (table["partial_correlation"] < table["high"])).all()
    lines = air_quality.remarks(table)
    assert lines[0].startswith("PM2.5 and humidity, mean of all sites: partial correlation 0.")
    assert "1 of 1 intervals exclude zero" in lines[1]
    assert set(air_quality.figure(table, found)) == {"air_quality_network", "air_quality_humidity"}


def test_seasons_and_sites_make_no_relation(tmp_path):
    table = air_quality.table(run(write_air(tmp_path, humidity_effect=0.0), SITES))
    main = table.iloc[0]
    assert main["hourly_correlation"] > 0.3
    assert main["low"] < 0 < main["high"]


def test_gaps_and_departures(tmp_path):
    sites, counts = load_air(write_air(tmp_path, 0.0, days=120))
    assert counts["values"] == 2 * 120 * 24 * 11
    assert 0 < counts["bridged in time"] < counts["missing"]
    assert not any(values.isna().to_numpy().any() for values in sites.values())
    days = air_days(sites, SITES)
    assert days.shape == (120, 11)
    assert np.abs(days.groupby(days.index.month).mean()).to_numpy().max() < 1e-9


def test_only_short_gaps_are_bridged():
    time = pd.date_range("2020-01-01", periods=12, freq="h")
    values = pd.DataFrame({"a": [0.0, np.nan, np.nan, 3, 4, *[np.nan] * 4, 9, 10, np.nan]}, time)
    out = _bridged(values, 2)["a"]
    assert out[:5].tolist() == [0, 1, 2, 3, 4]
    assert out[5:9].isna().all()
    assert np.isnan(out.iloc[-1])


def test_humidity_is_a_hundred_where_dew_falls():
    humidity = _relative_humidity(pd.Series([10.0, 20.0]), pd.Series([10.0, 9.3]))
    assert humidity.tolist() == pytest.approx([100.0, 50.0], abs=0.3)


def test_no_files():
    found = records(air_quality, settings())
    table = air_quality.table(found)
    assert air_quality.remarks(table) == ["No result: no data: set `paper.files.air_quality` in the config."]
    assert len(air_quality.figure(table, found)) == 2


def test_real_air(real_data):
    sites, counts = load_air(real_data / "air_quality")
    assert (len(sites), counts["values"]) == (12, 12 * 35064 * 11)
    days = air_days(sites, SITES)
    assert 0.4 < air_quality._partial(days) < 0.6
