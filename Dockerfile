# The workflow with everything that it needs, for the files in a folder that is mounted at /work:
#   docker build -t nard .
#   docker run --rm -v "$PWD:/work" nard snakemake --snakefile /opt/nard/Snakefile --cores 2 --configfile my.yaml
FROM python:3.12-slim

# What has no wheel for a platform is built.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/nard
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY nard nard
RUN pip install --no-cache-dir -c constraints.txt ".[workflow]"
COPY Snakefile ./
COPY workflow workflow
COPY scripts scripts
COPY config config
COPY envs envs
COPY profiles profiles

# Where any user may write.
ENV NUMBA_CACHE_DIR=/tmp/numba XDG_CACHE_HOME=/tmp/cache MPLCONFIGDIR=/tmp/matplotlib HOME=/tmp
WORKDIR /work
CMD ["snakemake", "--snakefile", "/opt/nard/Snakefile", "--cores", "1"]
