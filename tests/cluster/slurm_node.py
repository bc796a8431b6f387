"""A SLURM cluster of one node on this machine, for tests: munged, slurmctld and slurmd, started and stopped by hand.

    sudo python tests/cluster/slurm_node.py start
    sudo python tests/cluster/slurm_node.py stop

It needs root and Debian's packages slurm-wlm and munge, and no systemd. Jobs lose the variable SLURM_CONF, so its
configuration has to be /etc/slurm/slurm.conf; a file there that is not its own is left alone, and nothing is started.
"""

import fcntl
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

STATE = Path("/run/nard-slurm")  # pid files, logs and spools
LOCK = Path("/run/nard-slurm.lock")
CONFIG = Path("/etc/slurm/slurm.conf")
MARK = "# Written by tests/cluster/slurm_node.py, which removes it again."
MUNGE_KEY = Path("/etc/munge/munge.key")
MUNGE_RUN = Path("/run/munge")
CPUS = 2
# In the order of starting; each with what its process is called.
DAEMONS = ("munged", "slurmctld", "slurmd")


def why_not() -> str | None:
    """Why no cluster can be started here, or None."""
    if os.geteuid() != 0:
        return "a test cluster needs root"
    missing = [name for name in (*DAEMONS, "munge", "sbatch", "squeue", "scontrol", "sinfo") if not shutil.which(name)]
    if missing:
        return f"{', '.join(missing)} not found: apt-get install slurm-wlm munge"
    if CONFIG.exists() and not CONFIG.read_text().startswith(MARK):
        return f"{CONFIG} belongs to another cluster"
    return None


@contextmanager
def cluster(wait: float = 600.0):
    """A running cluster, one at a time on a machine: waits up to ``wait`` seconds for another one to end."""
    with LOCK.open("w") as lock:
        deadline = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"another test cluster has held {LOCK} for {wait:g} s") from None
                time.sleep(1)
        try:
            start()
            yield
        finally:
            stop()


def start() -> None:
    """Starts the daemons, after what an earlier run may have left, and waits until the node is idle."""
    stop()
    STATE.mkdir(mode=0o755)
    for name in ("controller", "node"):
        (STATE / name).mkdir()
    _start_munge()
    CONFIG.parent.mkdir(exist_ok=True)
    CONFIG.write_text(_configuration())
    subprocess.run(["slurmctld"], check=True, timeout=30)
    _wait(lambda: _answers("scontrol", "ping"), "slurmctld")
    subprocess.run(["slurmd"], check=True, timeout=30)
    _wait(lambda: "idle" in _answer("sinfo", "--noheader", "--format=%T"), "slurmd")


def stop() -> None:
    """Ends the daemons that the pid files name, last one first, and removes what they leave."""
    if CONFIG.exists() and CONFIG.read_text().startswith(MARK) and _pid("slurmctld"):
        _answer("scancel", "--user=root")  # its jobs would outlive the node
        _wait(lambda: not _answer("squeue", "--noheader", "--states=running,completing"), None, seconds=15)
    for name in reversed(DAEMONS):
        _end(name)
    if CONFIG.exists() and CONFIG.read_text().startswith(MARK):
        CONFIG.unlink()
    shutil.rmtree(STATE, ignore_errors=True)


def _configuration() -> str:
    host = socket.gethostname().split(".")[0]
    controller_port, node_port = _free_ports(2)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    return f"""{MARK}
ClusterName=nard
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
# A job gets the memory that it asks for, and no more than the node has.
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
# The node is what this file says, whatever the machine.
SlurmdParameters=config_overrides
StateSaveLocation={STATE}/controller
SlurmdSpoolDir={STATE}/node
SlurmctldPidFile={STATE}/slurmctld.pid
SlurmdPidFile={STATE}/slurmd.pid
SlurmctldLogFile={STATE}/slurmctld.log
SlurmdLogFile={STATE}/slurmd.log
# Finished jobs are shown for an hour: without accounting, squeue is what tells how they ended.
MinJobAge=3600
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={CPUS} RealMemory={memory}
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def _start_munge() -> None:
    """The authentication daemon, as its own user, with a key and folders that it accepts."""
    if _answers("munge", "--no-input"):
        return  # the machine has one of its own, which stays
    user = pwd.getpwnam("munge")
    MUNGE_KEY.parent.mkdir(mode=0o700, exist_ok=True)
    if not MUNGE_KEY.exists():
        MUNGE_KEY.touch(mode=0o400)
        MUNGE_KEY.write_bytes(os.urandom(128))
    folder = STATE / "munge"
    for path in (folder, MUNGE_RUN):
        path.mkdir(mode=0o755, exist_ok=True)
    for path in (MUNGE_KEY.parent, MUNGE_KEY, folder, MUNGE_RUN):
        os.chown(path, user.pw_uid, user.pw_gid)
    subprocess.run(
        [
            *(
                "munged",
                f"--key-file={MUNGE_KEY}",
                f"--pid-file={folder}/munged.pid",
                f"--log-file={folder}/munged.log",
            ),
            *(f"--seed-file={folder}/munged.seed", "--force"),
        ],
        user="munge",
        group="munge",
        extra_groups=[],
        check=True,
        timeout=30,
    )
    _wait(lambda: _answers("munge", "--no-input"), "munged")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _pid(name: str) -> int | None:
    """The daemon's process, if its pid file still speaks of it and not of one that came to have its number."""
    path = STATE / "munge/munged.pid" if name == "munged" else STATE / f"{name}.pid"
    try:
        pid = int(path.read_text())
        return pid if Path(f"/proc/{pid}/comm").read_text().strip() == name else None
    except (OSError, ValueError):
        return None


def _end(name: str) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        pid = _pid(name)
        if pid is None:
            return
        os.kill(pid, sign)
        _wait(lambda: _pid(name) is None, None, seconds=10)


def _answer(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout
    except subprocess.TimeoutExpired:
        return ""


def _answers(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=20).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _wait(done, name: str | None, seconds: float = 30.0) -> None:
    """Until it is done; if a daemon was waited for in vain, its log says why."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            if name is None:
                return
            logs = "\n".join(path.read_text()[-2000:] for path in STATE.rglob(f"{name}.log"))
            raise RuntimeError(f"{name} does not answer after {seconds:g} s; its log ends:\n{logs}")
        time.sleep(0.2)


if __name__ == "__main__":
    if reason := why_not():
        sys.exit(reason)
    {"start": start, "stop": stop}[sys.argv[1]]()
