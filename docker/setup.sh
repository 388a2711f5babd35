#!/usr/bin/env bash
# Everything that an image of Molehill does, in three steps that can be run one
# by one. The Dockerfile runs them; so do the tests, in a root of their own.
#
#   setup.sh system        as root: what the base image lacks
#   setup.sh user          as the image's user, in the repository: JupyterLab,
#                          the kernel, XLA's plugin, and a warm build cache
#   setup.sh gpu           as the image's user: XLA's plugin for NVIDIA's GPUs
#   setup.sh start [ARGS]  as the image's user: JupyterLab, for the container
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*" >&2; }

system() {
	# A C compiler links XLA's bindings; the fonts are those of exported figures.
	local missing=()
	command -v gcc > /dev/null || missing+=(gcc libc6-dev)
	command -v make > /dev/null || missing+=(make)
	[[ -e /etc/ssl/certs/ca-certificates.crt ]] || missing+=(ca-certificates)
	if ((${#missing[@]})); then
		say "Installing ${missing[*]} ..."
		apt-get update -q
		DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"
		rm -rf /var/lib/apt/lists/*
	fi
	# Volumes that are made anew take the owner and mode of these folders.
	local folder
	for folder in "${MOLEHILL_DATA:?}" "${MOLEHILL_RUNS:?}" "$(dirname "${MOLEHILL_LEDGER:?}")"; do
		install -d -m 0700 -o "${NB_UID:?}" -g "${NB_GID:?}" "$folder"
	done
}

user() {
	if [[ $(id -u) == 0 ]]; then
		say "setup.sh user: run this as the image's user, not as root: its files would be root's"
		exit 1
	fi
	command -v go > /dev/null || { say "setup.sh user: Go is not in PATH; the Dockerfile copies it from the golang image"; exit 1; }
	# The tests' own cells and the lessons' link against the same packages, so
	# after this the reader's first cell compiles itself and nothing else.
	make lab CHECK=1
	.molehill/bin/molehill notebooks --index
	if [[ ${MOLEHILL_WARM:-notebook} == notebook ]]; then
		warm
	fi
}

# warm runs the first lesson once, whose outputs nobody keeps.
warm() {
	local folder
	folder=$(mktemp -d)
	cp notebooks/00_start.ipynb "$folder/"
	MOLEHILL_RUNS=$folder/runs MOLEHILL_LEDGER=$folder/ledger.db .molehill/bin/molehill notebooks "$folder/00_start.ipynb"
	rm -rf "$folder"
}

gpu() {
	# JAX's plugin and NVIDIA's libraries come as Python packages. The driver is
	# the machine's: the container runtime brings it in.
	.molehill/venv/bin/python -I -m pip install --no-cache-dir --disable-pip-version-check --only-binary=:all: \
		--requirement docker/requirements-cuda.txt
}

start() {
	exec .molehill/bin/molehill lab --address "${MOLEHILL_ADDRESS:-0.0.0.0}" --port "${MOLEHILL_PORT:-8888}" "$@"
}

case ${1:-} in
system | user | gpu | start) "$@" ;;
*)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
	exit 2
	;;
esac
