#!/usr/bin/env bash
# A Docker engine with the image's base, python:3.12-slim, wherever the tests run.
#
#   eval "$(tests/container/engine.sh)"        prints: export DOCKER_HOST=...
#
# An engine that answers is used as it is. Otherwise a private one is started from Debian's packages, with its data in
# SKILLGYM_ENGINE (default: a folder below TMPDIR). The base is pulled by the digest that the Dockerfile names. Where no
# image registry answers, a stand-in for its tag is made of Debian's minimal system and a CPython of this machine. All
# steps may be repeated: what is there is kept. The tests start a registry of Debian's package docker-registry.
# Needs root for the private engine and the stand-in. Stop the engine with: kill "$(cat "$SKILLGYM_ENGINE/pid")"
set -Eeuo pipefail

engine=${SKILLGYM_ENGINE:-${TMPDIR:-/tmp}/skillgym-engine}
base=$(sed -nE 's/^FROM (.+) AS base$/\1/p' "$(dirname "$0")/../../Dockerfile")
image=${base%@*}
recipe=$(sha256sum "${BASH_SOURCE[0]}" | cut -c1-16) # of the stand-in: one that was made in another way is made anew

say() { echo "engine: [${SECONDS} s] $*" >&2; }
give_up() { say "$*"; exit 1; }
answers() { timeout 20 docker version >/dev/null 2>&1; }

log=
trap '[ -z "$log" ] || tail -n 30 "$log" >&2; say "failed: $BASH_COMMAND"' ERR

logged() { # logged NAME COMMAND...: the output of a long step goes to a file, which is shown when the step fails
  log=$engine/$1.log; shift
  "$@" >"$log" 2>&1
  log=
}

need() { # need COMMAND PACKAGE...: install the packages unless the command is there
  local command=$1; shift
  command -v "$command" >/dev/null && return
  local as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo -n)
  "${as_root[@]}" true || give_up "$command is missing; install $* or run this as root"
  say "installing $*"
  logged apt-update "${as_root[@]}" apt-get update -qq
  logged "apt-$command" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

start_engine() {
  [ "$(id -u)" = 0 ] || give_up "no Docker engine answers and starting one needs root; set DOCKER_HOST or use sudo"
  need dockerd docker.io iptables
  need iptables iptables
  export DOCKER_HOST=unix://$engine/docker.sock
  if ! answers; then
    rm -f "$engine/pid" "$engine/docker.sock"
    nohup dockerd --data-root "$engine/data" --exec-root "$engine/exec" --pidfile "$engine/pid" \
      --host "$DOCKER_HOST" >"$engine/dockerd.log" 2>&1 </dev/null &
    for _ in $(seq 60); do answers && break; sleep 0.5; done
    answers || { tail -n 30 "$engine/dockerd.log" >&2; give_up "the engine did not start"; }
  fi
  say "private engine, pid $(cat "$engine/pid")"
}

python_prefix() { # the installation folder of a CPython outside /usr, 3.12 first; nothing when there is none
  local version python prefix
  for version in 3.12 3.13 3.14 3.11; do
    for python in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/"python$version"; do
      prefix=$("$python" -c 'import sys; print(sys.base_prefix)' 2>/dev/null) || continue
      [ "$prefix" = /usr ] || { echo "$version $prefix"; return; }
    done
  done
}

copy_python() { # copy_python VERSION PREFIX ROOT
  local version=$1 prefix=$2 root=$3 name libraries
  mapfile -t libraries < <(cd "$prefix" && find lib -maxdepth 1 -name 'libpython*.so*')
  (cd "$prefix" && tar --exclude=test --exclude=__pycache__ --exclude='*.a' --exclude='config-3*' --exclude=idlelib \
    --exclude=tkinter --exclude='site-packages/*' -cf - "bin/python$version" "lib/python$version" include \
    "${libraries[@]}") | tar -C "$root/usr/local" -xf -
  chroot "$root" ldconfig
  chroot "$root" "/usr/local/bin/python$version" -m ensurepip --upgrade
  for name in python python3; do ln -sf "python$version" "$root/usr/local/bin/$name"; done
  ln -sf pip3 "$root/usr/local/bin/pip"
}

trust_like_here() { # trust_like_here ROOT: the machine's certificates and package index also hold inside builds
  local bundle=/etc/ssl/certs/ca-certificates.crt index
  [ ! -f "$bundle" ] || cp "$bundle" "$1$bundle"
  index=$(python3 -m pip config get global.index-url 2>/dev/null || true)
  printf '[global]\ncert = %s\n%s' "$bundle" "${index:+index-url = $index}" >"$1/etc/pip.conf"
}

fill_root() { # fill_root ROOT: Debian's minimal system with a Python in it
  local root=$1 version prefix packages=ca-certificates,tzdata,netbase,usr-is-merged release sources=()
  # shellcheck source=/dev/null
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  [ ! -f /etc/apt/sources.list.d/debian.sources ] || sources=(/etc/apt/sources.list.d/debian.sources)
  read -r version prefix <<<"$(python_prefix)" || true
  if [ -n "${prefix:-}" ]; then
    packages+=,libssl3,libsqlite3-0,libffi8,libbz2-1.0,liblzma5,zlib1g,libreadline8,libncursesw6,libexpat1,libuuid1
  else
    packages+=,python3,python3-pip,python3-venv,python-is-python3
  fi
  # The folders of /usr are merged beforehand, else a package that does it brings all of Perl.
  mmdebstrap --variant=minbase --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --include="$packages" "$release" \
    "$root" "${sources[@]}"
  if [ -n "${prefix:-}" ]; then
    copy_python "$version" "$prefix" "$root"
  else
    rm -f "$root"/usr/lib/python3*/EXTERNALLY-MANAGED
    ln -s /usr/bin/python3 "$root/usr/local/bin/python3"
  fi
  trust_like_here "$root"
  rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin
}

is_current() { # whether the base is there: pulled, or a stand-in made by these steps
  docker image inspect --format '{{.RepoDigests}} {{with .Config.Labels}}{{index . "stand-in"}}{{end}}' "$image" \
    2>/dev/null | grep -q -e "${base#*@}" -e " $recipe\$"
}

pull() { # the base; jobs of act run in the image of that tag
  timeout 300 docker pull -q "$base" >/dev/null 2>&1 && docker tag "$base" "$image"
}

make_stand_in() {
  [ "$(id -u)" = 0 ] || give_up "no image registry answers and making a stand-in for $image needs root"
  need mmdebstrap mmdebstrap
  local root=$engine/root
  say "no registry answers: making a stand-in for $image, Python $(python_prefix | grep . || echo "of Debian")"
  rm -rf "$root"
  logged stand-in fill_root "$root"
  tar -C "$root" --one-file-system -cf - . | docker import -c "LABEL stand-in=$recipe" -c 'ENV LANG=C.UTF-8' -c 'CMD ["python3"]' \
    -c 'ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin' - "$image" >/dev/null
  rm -rf "$root"
}

mkdir -p "$engine"
need docker docker.io iptables
need docker-registry docker-registry
answers || start_engine
is_current || pull || make_stand_in
say "$image: $(docker run --rm "$image" python --version)"
echo "export DOCKER_HOST=${DOCKER_HOST:-unix:///var/run/docker.sock}"
