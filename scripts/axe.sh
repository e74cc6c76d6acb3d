#!/usr/bin/env bash
# Gets axe-core, which judges whether a page can be read by everybody, into bin/axe-core: npm's package of one version, known
# by its hash. Where it cannot be had, the test that needs it says so and skips.
set -euo pipefail
version=4.11.1
sha512=04048e83e6303b60bedf8eb1dcb64e7a8a2f4c8a13ad1a84b2a31ae9f99f015d0ff94f6616bf4db32384a6262f1636dceb834cad2b30855e7459d5f375bfd9e4
cd "$(dirname "$0")/.."
to=bin/axe-core
[ "$(cat $to/version 2>/dev/null)" != $version ] || exit 0
command -v npm >/dev/null || { echo "npm is missing: pages are not checked by axe-core (apt-get install npm)" >&2; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && timeout 60 npm pack --silent "axe-core@$version" >/dev/null 2>&1) || { echo "could not get axe-core: the test that needs it says so and skips" >&2; exit 0; }
echo "$sha512  $folder/axe-core-$version.tgz" | sha512sum --check --quiet
mkdir -p $to
tar -xzf "$folder/axe-core-$version.tgz" -C $to --strip-components 1 package/axe.min.js package/LICENSE
echo $version >$to/version
