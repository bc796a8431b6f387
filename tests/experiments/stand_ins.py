"""Small files in the formats of the real data, and the records of runs done in this process."""

import json

import numpy as np
import pandas as pd

from nard.data.pathways import read_pathways
from nard.data.simulated import simulate_omics
from nard.experiments import CannotRun
from nard.experiments.running import _plain

NO_FILES = dict.fromkeys(("nhanes", "air_quality", "ashares", "tcga"))


def settings(scale=0.01, **files):
    return {"scale": scale, "seeds": 1, "seconds": 60, "gigabytes": 4, "files": {**NO_FILES, **files}}


def records(module, given, keep=lambda spec: True):
    """What the framework would record of a chapter's runs."""
    out = []
    for spec in filter(keep, module.runs(given)):
        record = {"name": spec["name"], "spec": json.loads(json.dumps(spec)), "seconds": 1.0, "peak_gb": 0.1}
        try:
            record |= {"status": "done", "result": json.loads(json.dumps(_plain(module.run(spec))))}
        except CannotRun as error:
            record |= {"status": "cannot", "reason": str(error)}
        out.append(record)
    return out


def write_air(folder, humidity_effect, days=500, seed=0):
    """Two sites, hour by hour: seasons and sites move everything, and humidity moves PM2.5 if asked for."""
    rng = np.random.default_rng(seed)
    time = pd.date_range("2014-01-01", periods=24 * days, freq="h")
    season = np.cos(2 * np.pi * time.dayofyear / 365)

    def weather():
        shocks = rng.standard_normal(days)
        return np.repeat(shocks, 24) + 0.2 * rng.standard_normal(len(time))

    humidity, particles = weather(), weather()
    for site, offset in (("North", 0.0), ("South", 2.0)):
        temperature = 10 - 12 * season
        # Magnus's formula backwards: the dew point of a relative humidity of 20 to 90 per cent.
        relative = np.clip(55 + 10 * humidity + 10 * season, 5, 99) / 100
        a = np.log(relative) + 17.62 * temperature / (243.12 + temperature)
        table = pd.DataFrame(
            {
                **{part: getattr(time, part) for part in ("year", "month", "day", "hour")},
                "PM2.5": np.expm1(4 + offset + season + 0.3 * particles + humidity_effect * humidity),
                **{gas: np.exp(2 + 0.3 * weather()) for gas in ("PM10", "SO2", "NO2", "CO", "O3")},
                "TEMP": temperature + weather(),
                "PRES": 1010 + weather(),
                "DEWP": 243.12 * a / (17.62 - a),
                "RAIN": np.exp(weather()),
                "WSPM": np.exp(0.3 * weather()),
                "wd": "NW",
            }
        )
        # The temperature that goes with the dew point is the exact one.
        table["TEMP"] = temperature
        table.loc[rng.random(len(table)) < 0.02, "PM2.5"] = np.nan
        table.loc[100:160, "SO2"] = np.nan
        table.to_csv(folder / f"PRSA_Data_{site}_20140101-20150515.csv.gz", index=False)
    return str(folder)


def write_shares(path, days=200, seed=0):
    """Two sectors of five stocks each, one ticker below zero, and one with missing days."""
    rng = np.random.default_rng(seed)
    sectors = np.repeat([0, 1], 5)
    nights = 0.01 * (rng.standard_normal((days, 2))[:, sectors] + 0.7 * rng.standard_normal((days, 10)))
    daytime = 0.01 * rng.standard_normal((days, 10))
    close = np.log(20) + np.cumsum(nights + daytime, axis=0)
    opened = close - daytime
    rows = []
    for stock in range(10):
        for day in range(days):
            if stock == 3 and day in (50, 51):
                continue
            a, b = np.exp(opened[day, stock]), np.exp(close[day, stock])
            rows.append((f"2020-{day:04d}", f"{600000 + stock}", a, 1.01 * max(a, b), 0.99 * min(a, b), b))
    rows += [(f"2020-{day:04d}", "000999", -1.0, 1.0, -1.0, 0.5) for day in range(days)]
    pd.DataFrame(rows, columns=["date", "ticker", "open", "high", "low", "close"]).to_parquet(path)
    return str(path)


def write_nhanes(path, columns, people=300, seed=0):
    """Every column depends on age; outputs are also driven by the inputs."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, people)
    molecular, macro = columns
    X = 0.5 * (age[:, None] - 50) / 17 + rng.standard_normal((people, len(molecular)))
    Y = X @ rng.choice([0.0, 0.5], (len(molecular), len(macro)), p=(0.7, 0.3)) + rng.standard_normal(
        (people, len(macro))
    )
    Y += 0.3 * (age[:, None] - 50) / 17
    table = pd.DataFrame(np.column_stack([X, Y]), columns=[*molecular, *macro])
    table["hba1c"] = 5 + 0.1 * table.get("hba1c", 0.0)
    table = table.assign(sampleID=[f"p{i}" for i in range(people)], age=age, wave=7, pregnant=0, health=2)
    table["gender"] = rng.choice([1, 2], people)
    table.to_csv(path, index=False)
    return str(path)


def write_tcga(folder, cancers=("COAD", "LUAD"), n=150):
    """Simulated cohorts in which GSK3ALPHABETAPS21S9 follows AKTPS473."""
    pathways = read_pathways(None)
    for cancer in cancers:
        cohort = simulate_omics(pathways, cancer, n, 0, [], 1)
        outputs = cohort.tables["outputs"]
        outputs.loc["GSK3ALPHABETAPS21S9"] += outputs.loc["AKTPS473"]
        (folder / cancer).mkdir(parents=True)
        cohort.tables["inputs"].to_csv(folder / cancer / "mrna.tsv.gz", sep="\t")
        outputs.to_csv(folder / cancer / "rppa.tsv.gz", sep="\t")
    return str(folder)
