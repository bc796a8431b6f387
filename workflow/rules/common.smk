# Functions that the rules use. Rules live in the other files.

import os
import pathlib
import shlex
import sys
from functools import cache, partial

from snakemake.exceptions import WorkflowError
from snakemake.jobs import Job
from snakemake.logging import logger

# Snakemake starts scripts by the path of its interpreter, unquoted, which a space in it would break.
if os.path.exists(sys.executable):
    sys.executable = shlex.quote(sys.executable)

# The package lies in the same repository; it need not be installed, unless the workflow is read from another host.
REPOSITORY = os.path.dirname(os.path.dirname(workflow.current_basedir.get_path_or_uri(secret_free=True)))
sys.path.insert(0, REPOSITORY)

from nard.project.config import (
    cohort_files,
    cohort_settings,
    entry_of,
    fit_settings,
    methods_of,
    of_kind,
    preparation_settings,
    read_yaml,
    table_files,
    validated,
    without_secrets,
)
from nard.project.neighbours import neighbours, neighbours_told
from nard import runs
from nard.data.antibodies import read_antibodies
from nard.data.downloads import masked, xena_url
from nard.data.h5 import split_part
from nard.data.pathways import read_pathways
from nard.data.tables import folder_files
from nard.errors import DataError
from nard.project import provenance
from nard.project.chapters import CHAPTERS, chapter_figures
from nard.figures.catalogue import CATALOGUE, figures_of, pathway_slugs
from nard.files import read_json
from nard.fits.failures import failure_lines
from nard.fits.memory import fit_megabytes, tuned_by
from nard.fits.methods import FLOORS, METHODS, find_method

# Of jobs that were killed. It is the run that tries again, not the process around a job on another machine.
RETRIES = 2 if workflow.is_main_process else 0


def default_config():
    """The config of the working directory, or the one that comes with the workflow."""
    own = os.path.join("config", "config.yaml")
    return own if os.path.exists(own) else os.path.join(REPOSITORY, own)


def checked(config, files):
    """The config, merged from the files, with its defaults; all mistakes are told at once, before anything runs."""
    try:
        for path in files:
            read_yaml(path)
        config = validated(config, ", ".join(map(str, files)) or "config")
        read_pathways(config["pathways"], config["use_pathways"])
        read_antibodies(config["antibodies"])
    except DataError as error:
        raise WorkflowError(str(error))
    return config


def begin():
    """One run at a time in a working directory; its jobs, wherever they are, know that they are its."""
    global lock
    lock = runs.hold()
    if lock is None:
        raise WorkflowError("Another run of this workflow is at work in this directory; wait for it or stop it.")
    workflow.register_envvars(runs.RUN)
    if names := neighbours(config):
        logger.warning(neighbours_told(names))


def begin_job():
    """In the process around a job on another machine, before it touches a file: not if its run was overtaken.

    What a failed job has written is removed by the run, not by this process, which may have outlived its run: what it
    would remove may then be of another run.
    """
    try:
        runs.require_current()
    except runs.Overtaken as error:
        raise WorkflowError(str(error))
    Job.cleanup = leave_files


async def leave_files(job, skip_outputs=()):
    pass


def remove_leftovers():
    """Halves of files that killed jobs left behind; no rule ever looks at them."""
    for folder in ("results", "resources"):
        for path in pathlib.Path(folder).rglob(".part-*"):
            path.unlink(missing_ok=True)


def tell_unfitted():
    """The fits that there are not, at the end of a run that has finished without them."""
    finished = [path for path in of_fits("results/{cohort}/{method}", config["cohorts"]) if is_finished(path)]
    fits, held_out = ([read_json(f"{path}/{name}.json") for path in finished] for name in ("fit", "held_out"))
    if lines := failure_lines(fits, held_out):
        print("Not everything could be fitted; the report has the rest, and says so:", file=sys.stderr)
        print(*(f"  {line}" for line in lines), sep="\n", file=sys.stderr)


def is_finished(folder):
    return all(os.path.exists(f"{folder}/{name}.json") for name in ("fit", "held_out"))


def simulated(config):
    return [name for name, cohort in config["cohorts"].items() if cohort["source"] == "simulated"]


def named_files(wildcards):
    """Where a cohort's raw data are or will be, by the config key that names them."""
    cohort = settings_of(wildcards)
    if cohort["source"] == "files":
        return cohort_files(cohort)
    if cohort["source"] == "simulated":
        keys = ["table"] if cohort["kind"] == "aging" else ["inputs", "outputs"]
        return {key: f"resources/simulated/{wildcards.cohort}/{key}.tsv.gz" for key in keys}
    folder = f"resources/xena/{cohort['cancer']}"
    files = {"inputs": f"{folder}/HiSeqV2.gz", "outputs": f"{folder}/{cohort['protein_dataset']}.gz"}
    return files | cohort_files(cohort)


def raw_files(wildcards):
    """Files that a job can depend on: a user's file that is not there is left to its job, which says what to do.

    Of a folder what counts are the files in it, which its own time does not tell.
    """
    own = config["cohorts"][wildcards.cohort]["source"] == "files"
    files = {key: split_part(path)[0] for key, path in named_files(wildcards).items()}
    files = {key: path for key, path in files.items() if not own or os.path.exists(path)}
    folders = [path for path in files.values() if os.path.isdir(path)]
    return {
        **{key: ancient(path) if path in folders else path for key, path in files.items()},
        "inside": single_files(folders),
        "tables": [path for path in table_files(config, wildcards.cohort).values() if os.path.exists(path)],
    }


@cache
def content_of(path):
    """Once in a run, however many cohorts share a table of gigabytes."""
    return provenance.content_of(path)


def contents(files):
    """A parameter that tells what is in the user's files, by the config key that names them.

    Snakemake alone goes by their times, and takes no notice of one that is replaced by an older one. It asks for
    parameters only where it looks whether a job is to be done, and in the job itself.
    """
    return {key: content_of(split_part(path)[0]) for key, path in files.items()}


def cohort_contents(wildcards):
    return contents(cohort_files(settings_of(wildcards)) | table_files(config, wildcards.cohort))


def single_files(paths):
    """The files among the paths, and those in folders among them; what is not there is left out."""
    paths = [pathlib.Path(path) for path in paths]
    return [str(file) for path in paths for file in (folder_files(path) if path.is_dir() else [path]) if file.is_file()]


def pathway_files(wildcards):
    """The user's table of pathways, if there is one."""
    return [config["pathways"]] if config["pathways"] else []


def pathway_contents(wildcards):
    return contents({"pathways": path for path in pathway_files(wildcards)})


def settings_of(wildcards):
    return cohort_settings(config, wildcards.cohort)


def simulation_of(wildcards):
    """What a simulated cohort depends on, besides the seed and the pathways."""
    keys = (
        ["samples"] if settings_of(wildcards)["kind"] == "aging" else ["samples", "extra_proteins", "absent_proteins"]
    )
    return {key: settings_of(wildcards)[key] for key in keys}


def preparation_of(wildcards):
    return preparation_settings(config, wildcards.cohort)


def fit_settings_of(wildcards):
    return fit_settings(config, method_entry(wildcards))


def statistics_file(config):
    """One more file of each fit, if the config asks for it."""
    return {"statistics": "results/{cohort}/{method}/statistics.npz"} if config["fit"]["statistics"] == "all" else {}


def table_of(key, wildcards):
    """The user's table of pathways or antibodies that a cohort's preparation takes, if any."""
    return table_files(config, wildcards.cohort).get(key)


def download_url(wildcards):
    return masked(xena_url(wildcards.cancer, wildcards.dataset, config["mirror"]))


def download_sum(wildcards):
    """The checksum that the config gives for a file, if any."""
    for cohort in (cohort_settings(config, name) for name in config["cohorts"]):
        if cohort["source"] == "xena" and cohort["cancer"] == wildcards.cancer:
            return cohort["sha256"].get(wildcards.dataset)


def memory_for(attempt, method, shape, tuned, relevance):
    """MB: the estimate, and once more for every attempt before, up to what the largest machine has."""
    return capped(fit_megabytes(method, *shape, tuned=tuned, relevance=relevance) * attempt)


def capped(megabytes):
    """No job asks for more than the largest machine has."""
    return min(int(megabytes), config["memory"] or int(megabytes))


def fit_memory(wildcards, input, attempt):
    """Before the cohort is prepared its shape is not known; Snakemake then asks again."""
    cohort = read_json(input.summary)
    shape = cohort["n_samples"], cohort["n_inputs"], cohort["n_outputs"]
    tuned = tuned_by(config["fit"], wildcards.method)
    return memory_for(attempt, wildcards.method, shape, tuned, config["fit"]["relevance"])


def floors_memory(wildcards, input, attempt):
    """Of the plain regressions, which come one after the other."""
    cohort = read_json(input.summary)
    shape = cohort["n_samples"], cohort["n_inputs"], cohort["n_outputs"]
    return max(memory_for(attempt, name, shape, True, config["fit"]["relevance"]) for name in FLOORS)


def refit_memory(wildcards, input, attempt):
    """Of fits whose settings have been chosen."""
    fit = read_json(input.fit)
    shape = fit["n_samples"], fit["n_features"], fit["n_targets"]
    return memory_for(attempt, wildcards.method, shape, True, config["fit"]["relevance"])


def fit_minutes(wildcards, attempt):
    """An hour is many times what any fit of the default run takes. Samplers use their time budget once or five times."""
    if "time_budget" not in find_method(wildcards.method).takes:
        return 60 * attempt
    budget = config["fit"]["time_budget"]
    return (24 * 60 if budget is None else 60 + budget // 10) * attempt


def stability_minutes(wildcards, attempt):
    return fit_minutes(wildcards, attempt) * max(1, config["stability"]["subsamples"] // 5)


def small_memory(wildcards, attempt):
    """MB for what reads results, not data."""
    return 1000 * attempt


def short_minutes(wildcards, attempt):
    """Minutes for what takes seconds on a cohort of hundreds of samples."""
    return 30 * attempt


def long_minutes(wildcards, attempt):
    """Minutes for downloads, which go on where they stopped."""
    return 12 * 60 * attempt


def prepare_memory(wildcards, input, attempt):
    """MB. Text takes several times its gzipped size, numbers about as much again."""
    return capped((1000 + 30 * input.size_mb) * attempt)


def report_memory(wildcards, input, attempt):
    """MB: the inputs are read, one cohort's at a time."""
    largest = max(pathlib.Path(path).stat().st_size for path in input.X) / 1e6
    return capped((1000 + 30 * largest) * attempt)


def fits_of(cohorts):
    """Every pair of a cohort and a method that is fitted to it."""
    return [[cohort, method] for cohort in cohorts for method in methods_of(config, cohort)]


def of_fits(pattern, cohorts):
    """The files of all fits to these cohorts, in the order of fits_of."""
    return [pattern.format(cohort=cohort, method=method) for cohort, method in fits_of(cohorts)]


def method_names(config):
    """Of the registry and of the config."""
    return list(dict.fromkeys([*METHODS, *(method for _, method in fits_of(config["cohorts"]))]))


def method_entry(wildcards):
    """What the config says of a method, from which a job finds its class."""
    return entry_of(config, wildcards.method)


def method_modules(wildcards):
    """Where the class of a method is, so that its fits follow its code."""
    return [find_method(method_entry(wildcards)).path.rpartition(":")[0]]


def floors_modules(wildcards):
    return [find_method(name).path.rpartition(":")[0] for name in FLOORS]


def made_by(script, modules=lambda wildcards: (), files=()):
    """A parameter that tells what results are made by: the code of their script, and versions of packages."""
    path = pathlib.Path(REPOSITORY, "scripts", f"{script}.py")
    return lambda wildcards: provenance.made_by(path, modules(wildcards), files)


def files_beside(*folders):
    """What lies in folders of the repository and is no code: templates, the table of pathways."""
    paths = (path for folder in folders for path in sorted(pathlib.Path(REPOSITORY, folder).glob("[!.]*")))
    return [path for path in paths if path.is_file() and path.suffix != ".py"]


def figure_files(figure, wildcards):
    return figure.files(config, wildcards)


def figure_modules(figure, wildcards):
    return [figure.draw.rpartition(".")[0]]


def figure_caption(figure, wildcards):
    return figure.caption_for(wildcards)


def figure_settings(figure, wildcards):
    return figure.settings(config, wildcards)


def figure_message(figure):
    return f"Drawing: {figure.title.replace('{', '{wildcards.')}"


def figure_job(name, figure):
    """Where its log and its times go: one file, or a folder with one for each case."""
    return os.path.join(f"{name}_figure", *(f"{{{key}}}" for key in figure.cases(config)[0]))


def only_cases(figure):
    """The values that the wildcards of a figure can have."""
    cases = figure.cases(config)
    return {key: "|".join(case[key] for case in cases) for key in cases[0]}


def final_tables(config):
    tables = ["results/tables/cohorts.tsv", "results/tables/methods.tsv", "results/comparison/jaccard.tsv"]
    if of_kind(config, "omics"):
        tables += [
            "results/comparison/agreement_associations.tsv",
            "results/comparison/agreement_edges.tsv",
            "results/tables/pathway_map.tsv",
            "results/tables/crosstalk.tsv",
        ]
    if simulated(config):
        tables += ["results/tables/recovery.tsv"]
    return [*tables, *stability_tables(config)]


def stability_tables(config):
    """Of the reference method, if the config asks for subsamples."""
    cohorts = config["cohorts"] if config["stability"]["subsamples"] else []
    return [f"results/{cohort}/{config['reference']}/stability.tsv" for cohort in cohorts]


def final_figures(config):
    return [f"results/figures/{name}.{suffix}" for name, _, _ in figures_of(config) for suffix in ("png", "pdf")]


def paper_chapters(config):
    """The experiments of the paper that the config asks for, in the order of the registry."""
    if config["paper"] is None:
        return []
    asked = config["paper"]["chapters"]
    return [name for name in CHAPTERS if asked is None or name in asked]


def paper_settings(config):
    """What the runs of the paper's experiments depend on; which chapters there are is not among it."""
    return {key: value for key, value in config["paper"].items() if key != "chapters"}


def paper_files(config):
    """Real data of the paper's experiments; each run looks for itself whether its own have changed."""
    return single_files(path for path in config["paper"]["files"].values() if path)


def paper_contents(wildcards):
    return contents({key: path for key, path in config["paper"]["files"].items() if path})


def paper_figures(chapters):
    return [
        f"results/figures/{name}.{suffix}"
        for chapter in chapters
        for name in chapter_figures(chapter)
        for suffix in ("png", "pdf")
    ]


def chapter_modules(chapter, wildcards):
    return [CHAPTERS[chapter].path]


def paper_tables(config):
    return [f"results/tables/{chapter}.tsv" for chapter in paper_chapters(config)]


def final_paper(config):
    return [*paper_tables(config), *paper_figures(paper_chapters(config))]


def paper_memory(wildcards):
    """MB. The runs of a chapter, which go side by side where their times do not count, and the job that watches them."""
    at_once = 1 if CHAPTERS[wildcards.chapter].timed else chapter_cores(wildcards)
    return capped(config["paper"]["gigabytes"] * 1000 * at_once + 1000)


def chapter_cores(wildcards):
    """Snakemake gives a job at most the cores that it has; a cluster's nodes have these at least."""
    return workflow.cores or 8


def final_outputs(config):
    explorers = ["results/explorer.html", *(f"results/{cohort}/explorer.html" for cohort in config["cohorts"])]
    reproduction = ["results/reproduction.md"] if paper_chapters(config) else []
    return [
        "results/report.html",
        *explorers,
        *final_tables(config),
        *final_figures(config),
        *final_paper(config),
        *reproduction,
    ]
