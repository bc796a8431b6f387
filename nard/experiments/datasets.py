"""The real data of the paper's experiments, from the files that the config names, as X and Y of a fit.

TCGA and NHANES go through the preparation that the workflow gives every cohort (:mod:`nard.data`). Prices of shares and
hourly measurements of air have their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

import nard
from nard.data.cohort import Prepared
from nard.data.pathways import read_pathways
from nard.errors import DataError
from nard.experiments import CannotRun
from nard.project.check import prepare_cohort
from nard.project.config import cohort_settings, load_config, validated

__all__ = [
    "AIR",
    "SITES",
    "air_days",
    "air_files",
    "given",
    "load_air",
    "load_nhanes",
    "load_prices",
    "load_tcga",
    "nhanes_blocks",
    "share_windows",
]

# Indicator → group, in the order of figures. Relative humidity stands for the dew point, from which it is computed.
AIR = {
    **dict.fromkeys(("PM2.5", "PM10"), "Particles"),
    **dict.fromkeys(("SO2", "NO2", "CO", "O3"), "Gases"),
    **dict.fromkeys(("temperature", "pressure", "humidity", "rain", "wind speed"), "Weather"),
}
_AIR_COLUMNS = {"TEMP": "temperature", "PRES": "pressure", "RAIN": "rain", "WSPM": "wind speed"}
_SKEWED = ("PM2.5", "PM10", "SO2", "NO2", "CO", "O3", "rain", "wind speed")
_AIR_NEEDED = ("year", "month", "day", "hour", "PM2.5", "PM10", "SO2", "NO2", "CO", "O3", "DEWP", *_AIR_COLUMNS)
_SHORT_GAP = 6  # hours
SITES = "all sites"

_PRICES = ("open", "high", "low", "close")
_DAYS = 5


def given(files: Mapping, key: str) -> str:
    """The file or folder under a key of the config's `paper.files`, if it is there."""
    path = files.get(key)
    if path is None:
        raise CannotRun(f"no data: set `paper.files.{key}` in the config")
    if not Path(path).exists():
        raise CannotRun(f"no data: `paper.files.{key}` is {path}, and there is no such file or folder")
    return path


def load_tcga(folder: str | Path, cancer: str, genes: str | int = "pathway") -> Prepared:
    """mRNA → pathway proteins of the patients who have both, from <cancer>/mrna.tsv.gz and <cancer>/rppa.tsv.gz."""
    folder = Path(folder) / cancer
    files = {"inputs": str(folder / "mrna.tsv.gz"), "outputs": str(folder / "rppa.tsv.gz")}
    for path in files.values():
        if not Path(path).exists():
            raise CannotRun(f"no data: there is no {path}")
    config = validated(
        {
            "preprocessing": {"genes": genes, "sample_types": "patient"},
            "cohorts": {cancer: {"source": "files", "cancer": cancer, **files}},
        }
    )
    return _prepared(config, cancer, files)


def _aging_config() -> dict:
    """The choice of NHANES columns is that of config/aging.yaml, which explains it."""
    path = Path(nard.__file__).parents[1] / "config" / "aging.yaml"
    if not path.exists():
        raise CannotRun(f"the choice of columns is in {path}, which is not there: run from a copy of the repository")
    return load_config(path)


def load_nhanes(file: str | Path) -> Prepared:
    """Molecular → macro phenotypes, as config/aging.yaml prepares them, but not adjusted for age."""
    config = _aging_config()
    config["preprocessing"]["adjust"].remove(config["cohorts"]["NHANES"]["age"])
    return _prepared(config, "NHANES", {"table": str(file)})


def nhanes_blocks() -> dict[str, str]:
    """Macro phenotype → block."""
    macro = _aging_config()["cohorts"]["NHANES"]["macro"]
    return {name: block for block, names in macro.items() for name in names}


def _prepared(config: Mapping, cohort: str, files: Mapping[str, str]) -> Prepared:
    pathways = read_pathways(config["pathways"], config["use_pathways"])
    return prepare_cohort(cohort_settings(config, cohort), files, pathways)


def load_prices(file: str | Path) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Open, high, low and close (days × tickers), and the tickers left out: backward adjustment made them ≤ 0.

    A missing day takes the last known price, never a later one; tickers without a price on the first day go too.
    """
    try:
        daily = pd.read_parquet(file, columns=["date", "ticker", *_PRICES])
    except ImportError:
        raise CannotRun("a parquet file needs pyarrow: pip install 'nard[experiments]'") from None
    except (OSError, ValueError, KeyError) as error:
        columns = ", ".join(("date", "ticker", *_PRICES))
        raise DataError(f"{file}: not a parquet file with the columns {columns}.\n  {error}") from None
    not_positive = set(daily.loc[(daily[list(_PRICES)] <= 0).any(axis=1), "ticker"])
    tables = {price: daily.pivot_table(index="date", columns="ticker", values=price).ffill() for price in _PRICES}
    late = set().union(*(table.columns[table.isna().any()] for table in tables.values()))
    dropped = sorted(not_positive | late)
    return {price: table.drop(columns=dropped).astype(float) for price, table in tables.items()}, dropped


def share_windows(prices: Mapping[str, pd.DataFrame], reading: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Four prices of five days → the next day's open of every stock, and what "no change" would predict.

    ``reading`` is "prices" (levels, the paper's) or "changes": logarithms relative to the last of the five closes. The
    last close itself is then zero, and left out.
    """
    tables = {name: np.log(table) if reading == "changes" else table for name, table in prices.items()}
    dates = tables["open"].index
    n = len(dates) - _DAYS
    last = tables["close"].iloc[_DAYS - 1 : _DAYS - 1 + n].to_numpy()
    origin = last if reading == "changes" else 0.0
    blocks = []
    for day in range(_DAYS):
        for price in _PRICES:
            if reading == "changes" and (day, price) == (_DAYS - 1, "close"):
                continue
            values = tables[price].iloc[day : day + n].to_numpy() - origin
            names = [f"{ticker} {price} −{_DAYS - day}" for ticker in tables[price].columns]
            blocks.append(pd.DataFrame(values, dates[_DAYS:], names))
    Y = tables["open"].iloc[_DAYS:] - origin
    return pd.concat(blocks, axis=1), Y, pd.DataFrame(last - origin, Y.index, Y.columns)


def air_files(folder: str | Path) -> dict[str, Path]:
    """Site → file, in alphabetical order."""
    files = sorted(Path(folder).glob("PRSA_Data_*.csv*"))
    if not files:
        raise CannotRun(f"no data: {folder} has no files PRSA_Data_<site>_….csv")
    return {file.name.split("_")[2]: file for file in files}


def load_air(folder: str | Path) -> tuple[dict[str, pd.DataFrame], dict[str, int]]:
    """Hourly indicators of every site on one grid of time, logged where skewed, gaps filled; and how many were filled.

    Gaps of at most six hours are bridged in time. Longer ones take the mean of the other sites at that hour, moved by
    the site's mean difference from them; what no site measured is bridged in time whatever its length.
    """
    sites = {}
    for site, file in air_files(folder).items():
        table = pd.read_csv(file)
        absent = [name for name in _AIR_NEEDED if name not in table]
        if absent:
            raise DataError(f"{file}: the columns {', '.join(absent)} are not there.")
        time = pd.to_datetime(table[["year", "month", "day", "hour"]])
        table = table.rename(columns=_AIR_COLUMNS).set_index(time)
        table["humidity"] = _relative_humidity(table["temperature"], table["DEWP"])
        values = table[list(AIR)].astype(float)
        values[list(_SKEWED)] = np.log1p(values[list(_SKEWED)].clip(lower=0))
        sites[site] = values[~values.index.duplicated()]
    grid = pd.date_range(min(t.index[0] for t in sites.values()), max(t.index[-1] for t in sites.values()), freq="h")
    sites = {site: values.reindex(grid) for site, values in sites.items()}
    counts = {"values": len(grid) * len(AIR) * len(sites), "missing": _missing(sites)}
    sites = {site: _bridged(values, _SHORT_GAP) for site, values in sites.items()}
    counts["bridged in time"] = counts["missing"] - _missing(sites)
    mean = pd.concat(sites).groupby(level=1).mean()
    filled = {}
    for site, values in sites.items():
        moved = mean + (values - mean).mean()
        filled[site] = _bridged(values.fillna(moved), None).bfill().ffill()
    return filled, counts


def _missing(sites: Mapping[str, pd.DataFrame]) -> int:
    return sum(int(values.isna().to_numpy().sum()) for values in sites.values())


def _bridged(values: pd.DataFrame, longest: int | None) -> pd.DataFrame:
    """Gaps of at most so many hours, or of any length, filled by straight lines."""
    lines = values.interpolate("time", limit_area="inside")
    if longest is None:
        return lines
    out = values.copy()
    for name in values:
        missing = values[name].isna()
        length = missing.groupby((~missing).cumsum()).transform("sum")
        out[name] = values[name].where(~missing | (length > longest), lines[name])
    return out


def _relative_humidity(temperature: pd.Series, dew_point: pd.Series) -> pd.Series:
    """Per cent, by Magnus's formula over water, degrees Celsius."""
    a, b = 17.62, 243.12
    return 100 * np.exp(a * dew_point / (b + dew_point) - a * temperature / (b + temperature)).clip(upper=1.0)


def air_days(sites: Mapping[str, pd.DataFrame], site: str) -> pd.DataFrame:
    """Daily means of the departures from a site's own mean for that month of the year and hour of the day.

    ``site`` is one of them, or all: the mean of their departures. Sites measure the same air, so that they are no
    independent samples.
    """

    def departures(values):
        return values - values.groupby([values.index.month, values.index.hour]).transform("mean")

    chosen = sites.values() if site == SITES else [sites[site]]
    parts = [departures(values) for values in chosen]
    return (sum(parts) / len(parts)).resample("D").mean()
