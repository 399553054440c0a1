#!/usr/bin/env bash
# The composite action's only step: installs the tool's dependencies, by hash, into an environment below RUNNER_TEMP, and
# becomes the tool, which is run from this very checkout of the action. For Linux and macOS, bash 3.2 and later.
#
# Its own settings: SKILLGYM_ACTION_ROOT, the checkout of the action; SKILLGYM_INPUTS, the inputs as JSON. Nothing of the
# working directory is used before the tool starts: it is a checkout that anybody may have written.
set -euo pipefail

fail() { # fail MESSAGE: an annotation, outputs, the job summary, and the exit code for configuration errors
  echo "::error title=skillgym-action::$1"
  echo "error: $1" >&2
  printf 'verdict=error\nexit-code=2\n' >>"${GITHUB_OUTPUT:-/dev/null}" || true
  printf '## ❌ Not run: nothing was tested\n\nexit code 2\n\n- %s\n' "$1" >>"${GITHUB_STEP_SUMMARY:-/dev/null}" || true
  exit 2
}

usable() { # usable PYTHON: whether it is new enough and can be started
  "$1" -I -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (4,))' >/dev/null 2>&1
}

find_python() { # the first usable Python on PATH, else in the runner's tool cache
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 python \
    ${RUNNER_TOOL_CACHE:+"$RUNNER_TOOL_CACHE"/Python/3.*/*/bin/python3}; do
    if candidate=$(command -v "$candidate") && usable "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

install_dependencies() { # install_dependencies PYTHON FOLDER: an environment with exactly what the lock names
  local lock=$root/requirements/composite.txt
  if command -v uv >/dev/null; then
    UV_PYTHON_DOWNLOADS=never uv venv --quiet --no-project --python "$1" "$2" &&
      UV_PYTHON_DOWNLOADS=never uv pip install --quiet --python "$2/bin/python" --require-hashes --no-deps \
        --only-binary :all: --compile-bytecode --requirement "$lock"
    return
  fi
  "$1" -I -m venv "$2" &&
    "$2/bin/python" -I -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
      --only-binary :all: --requirement "$lock"
}

case ${RUNNER_OS:-$(uname -s)} in
  Linux | macOS | Darwin) ;;
  *) fail "skillgym-action runs on Linux and macOS, not on ${RUNNER_OS:-$(uname -s)}: choose another runs-on" ;;
esac
root=$(cd "$SKILLGYM_ACTION_ROOT" && pwd -P)
workspace=$PWD
temp=${RUNNER_TEMP:-${TMPDIR:-/tmp}}
cd "$temp"

python=$(find_python) || fail "skillgym-action needs Python 3.11 or newer, found: $(python3 --version 2>/dev/null || echo none). \
Install one on this runner, or add actions/setup-python before this step."
name=skillgym-action-$(cat "$root/requirements/composite.txt" "$root/src/skillgym_action/model/version.py" | cksum | tr ' ' -)
name=$name-$("$python" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ ! -x "$temp/$name/bin/python" ]; then
  echo "installing skillgym-action's dependencies for $("$python" --version) ($python)" >&2
  new=$temp/$name.$$
  trap 'rm -rf "$new"' EXIT
  install_dependencies "$python" "$new" >&2 || fail "the dependencies of skillgym-action could not be installed; the lines \
above say why. They come from the Python package index; where ensurepip is missing, install python3-venv or uv."
  echo "$root/src" >"$("$new/bin/python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/skillgym.pth"
  mv "$new" "$temp/$name"
  echo "installed skillgym-action's dependencies in $SECONDS s" >&2
fi

# No shell stays: its environment, with the job's secrets, could be read by programs of the same user.
cd "$workspace"
exec "$temp/$name/bin/python" -I -u -c 'from skillgym_action.__main__ import action; action()'
