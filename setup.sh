#!/bin/sh
# Says what this machine lacks to build and run colltune, and installs libz3
# where that takes no password. $1 is the go command to look for.
set -u
go=${1:-go}

if ! command -v "$go" >/dev/null 2>&1; then
	echo "colltune needs Go 1.26 or newer: install it from https://go.dev/dl/ and put it on PATH" >&2
	exit 1
fi

# The run-time linker's own view, then the usual folders of each system.
have_z3() {
	case ${COLLTUNE_Z3:-} in
	off) return 0 ;; # asked to go without
	?*) [ -e "$COLLTUNE_Z3" ] && return 0 ;;
	esac
	if command -v ldconfig >/dev/null 2>&1 && ldconfig -p 2>/dev/null | grep -q 'libz3\.so'; then
		return 0
	fi
	for f in /usr/lib/libz3.* /usr/lib64/libz3.* /usr/lib/*/libz3.* /usr/local/lib/libz3.* /opt/homebrew/lib/libz3.*; do
		[ -e "$f" ] && return 0
	done
	return 1
}

have_z3 && exit 0

# apt runs apt-get, which asks nothing and gives up where there is no network. It
# waits for who has the lock: a machine that was just started installs updates.
apt() {
	for wait in 5 5 10 10 20 20 30 30 60 60 0; do
		said=$($as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -y -q \
			-o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 "$@" </dev/null 2>&1) && return 0
		case $said in *"Could not get lock"* | *"Unable to lock"*) sleep $wait ;; *) return 1 ;; esac
	done
	return 1
}

# brew refuses root; the others want it.
as_root=
if [ "$(id -u)" -ne 0 ]; then
	if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then as_root="sudo -n"; else as_root=no; fi
fi
if command -v brew >/dev/null 2>&1 && [ "$(id -u)" -ne 0 ]; then
	echo "installing libz3: brew install z3" >&2
	brew install z3 >/dev/null 2>&1
elif [ "$as_root" != no ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing libz3: apt-get install libz3-4" >&2
	apt install libz3-4 || { apt update && apt install libz3-4; }
elif [ "$as_root" != no ] && command -v dnf >/dev/null 2>&1; then
	echo "installing libz3: dnf install z3-libs" >&2
	$as_root dnf install -y -q z3-libs >/dev/null 2>&1
fi

have_z3 || {
	printf '%s\n' "${said:-}" | grep '^E: ' >&2
	echo "libz3 is not here and could not be installed: the embedded solver takes its place" >&2
}
exit 0
