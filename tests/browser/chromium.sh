#!/usr/bin/env bash
# A Chromium for the tests of the HTML report.
#
#   eval "$(tests/browser/chromium.sh)"        prints: export SKILLGYM_CHROMIUM=...
#
# SKILLGYM_CHROMIUM and a Chromium or Chrome in PATH are used as they are. Otherwise Debian's package is installed, which
# needs root. All steps may be repeated.
set -Eeuo pipefail

say() { echo "chromium: [${SECONDS} s] $*" >&2; }
give_up() { say "$*"; exit 1; }

found() {
  local name
  for name in ${SKILLGYM_CHROMIUM:+"$SKILLGYM_CHROMIUM"} chromium chromium-browser google-chrome; do
    command -v "$name" && return
  done
  return 1
}

if ! program=$(found); then
  [ "$(id -u)" = 0 ] || give_up "no Chromium was found; install the package chromium, or run this as root"
  say "installing chromium"
  log=$(mktemp)
  { apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      chromium fonts-dejavu-core fonts-liberation fonts-noto-color-emoji
  } >"$log" 2>&1 || { tail -n 30 "$log" >&2; give_up "chromium could not be installed"; }
  rm -f "$log"
  program=$(found) || give_up "the package chromium has no chromium"
fi
say "$("$program" --version 2>/dev/null || echo "$program")"
printf 'export SKILLGYM_CHROMIUM=%q\n' "$program"
