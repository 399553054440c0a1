#!/bin/sh
# setup-variant.sh VARIANT WORKSPACE: give an agent what makes it this variant.
set -eu
mkdir -p "$2/.agent"
cp ./scripts/stand-in.sh "$2/.agent/stand-in.sh"
cp -R "./variants/$1/." "$2/.agent/"
