"""Stand-ins for Slurm, Ray and tune_zoo, and one run of the Slurm script among them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "deploy" / "slurm" / "run.sbatch"

# Each writes what it was asked to $CALLS. "srun" runs its command here, once; "ray start" lasts until told to end.
_STUBS = {
    "srun": """
        echo "srun $*" >>"$CALLS"
        while [[ $1 == --* ]]; do [[ $1 == --ntasks=* ]] && export TASKS=${1#*=}; shift; done
        exec "$@"
        """,
    "ray": """
        case "$1 $2" in
        "start --block")
            [[ $HEAD_STARTS == yes || $* != *--head* ]] || exit 1
            trap 'echo "ray ended" >>"$CALLS"; kill "$held"; exit 1' TERM
            /bin/sleep 600 & held=$!
            echo "ray $*" >>"$CALLS"
            if [[ $* == *--head* || $WORKERS_JOIN == yes ]]; then
                for ((task = 0; task < TASKS; task++)); do echo " 1 node_$$$task"; done >>"$NODES"
            fi
            wait "$held" ;;
        "health-check --address") [[ $HEALTHY == yes && -e $NODES ]] ;;
        "status --address="*) cat "$NODES" ;;
        *) echo "ray $*" >>"$CALLS" ;;
        esac
        """,
    "tune_zoo": """
        trap 'echo "driver told to end" >>"$CALLS"; kill "$held"; exit "$ON_TERM"' TERM
        /bin/sleep 600 & held=$!
        file=$RAY_AUTH_TOKEN_PATH
        echo "token $RAY_AUTH_MODE $(stat -c %a "$file") $(wc -c <"$file")" >>"$CALLS"
        echo "tune_zoo $*" >>"$CALLS"
        [[ $DRIVER == waits ]] || { kill "$held"; exit "$DRIVER"; }
        wait "$held"
        """,
    "scontrol": 'echo "scontrol $*" >>"$CALLS"',
    "sleep": "exec /bin/sleep 0.05",
}


class Job:
    """One round of the script in a process group of its own."""

    def __init__(self, folder: Path, *, driver: str = "waits", nodes: int = 3, **environment: str) -> None:
        self.home = folder / "home"
        self.calls_file = folder / "calls"
        _write_stubs(folder / "bin")
        self.home.mkdir()
        defaults = {
            "SLURM_JOB_ID": str(70_000_000 + os.getpid()),  # names a folder in /tmp
            "SLURM_JOB_NUM_NODES": str(nodes),
            "SLURM_SUBMIT_DIR": str(folder),
            "SLURMD_NODENAME": socket.gethostname(),
            "SLURM_CPUS_PER_TASK": "4",
            "TUNE_ZOO_VENV": str(folder),
            "HOME": str(self.home),
            "CALLS": str(self.calls_file),
            "NODES": str(folder / "nodes"),
            "DRIVER": driver,
            "ON_TERM": "130",
            "HEAD_STARTS": "yes",
            "HEALTHY": "yes",
            "WORKERS_JOIN": "yes",
            "PATH": os.environ["PATH"],
        }
        self.process = subprocess.Popen(
            ["bash", str(SCRIPT), "figure2", "/shared/out", "--max-concurrent", "3"],
            env=defaults | environment,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def calls(self) -> list[str]:
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []

    def calls_of(self, start: str) -> list[str]:
        return [call for call in self.calls() if call.startswith(start)]

    def when(self, start: str) -> Job:
        """Wait until something that starts so was called."""
        deadline = time.monotonic() + 60
        while not self.calls_of(start):
            assert self.process.poll() is None, self.process.communicate()[0]
            assert time.monotonic() < deadline, self.calls()
            time.sleep(0.02)
        return self

    def tell(self, number: signal.Signals) -> Job:
        """Signal the script alone, as --signal=B: does."""
        self.process.send_signal(number)
        return self

    def ended(self) -> int:
        """Wait for the end, and see that nothing is left behind: no process, no token, no folder."""
        try:
            output, _ = self.process.communicate(timeout=120)
            left = _processes_of(self.process.pid)
            assert not left, (left, output)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        assert list(self.home.iterdir()) == []
        return self.process.returncode


def _write_stubs(folder: Path) -> None:
    folder.mkdir()
    for name, body in _STUBS.items():
        path = folder / name
        path.write_text(f"#!/usr/bin/env bash\n{body}\n")
        path.chmod(0o755)


def _processes_of(group: int) -> list[str]:
    listing = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in listing.stdout.splitlines()]
    return [args for pgid, state, args in rows if int(pgid) == group and not state.startswith("Z")]
