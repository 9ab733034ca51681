#!/bin/sh
# Makes the release twice, in two fresh clones of the commit, and compares all files.
# The clones differ in path, age of the files, umask, time zone and language, and one
# program is compiled with an empty cache, since cached ones are always equal.
# FRESH=all makes the whole second release with an empty cache, which takes minutes.
#
# usage: scripts/reproducible.sh OUT [VERSION]     OUT receives the files
set -eu
out=$1
version=${2:-0.1.0}
repository=https://example.invalid/droid-acp
scope=@example
maintainer="Nobody <nobody@example.invalid>"
source=$(cd "$(dirname "$0")/.." && pwd)
commit=$(git -C "$source" rev-parse HEAD)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

clone() { # clone DIRECTORY
	mkdir -p "$(dirname "$1")"
	git clone -q --no-local --no-checkout "$source" "$1"
	git -C "$1" -c advice.detachedHead=false checkout -q "$commit"
}

first=$work/a
(umask 022 && clone "$first" && cd "$first" && TZ=UTC LC_ALL=C make -s release VERSION="$version" REPOSITORY=$repository SCOPE=$scope MAINTAINER="$maintainer")

second="$work/another directory/further/down"
cache=$work/cache
mkdir -p "$cache"
(
	umask 077
	clone "$second"
	cd "$second"
	find . -name .git -prune -o -type f -exec touch -d '2001-02-03 04:05:06' {} +
	export TZ=Asia/Tokyo LC_ALL=C.UTF-8
	[ "${FRESH:-}" != all ] || export GOCACHE="$cache"
	make -s release VERSION="$version" REPOSITORY=$repository SCOPE=$scope MAINTAINER="$maintainer"
	GOWORK=off go build -C scripts/release -o "$work/release" .
	GOCACHE="$cache" "$work/release" -root . -version "$version" -only linux/amd64 -out "$work/program"
)

failed=0
for dir in "$first/dist" "$second/dist"; do
	(cd "$dir" && ls) >"$work/names.$(basename "$(dirname "$dir")")"
done
cmp "$work/names.a" "$work/names.down" || failed=1
for file in "$first"/dist/*; do
	cmp "$file" "$second/dist/$(basename "$file")" || failed=1
done
mkdir "$work/packed"
tar -xzf "$first/dist/droid-acp_${version}_linux_amd64.tar.gz" -C "$work/packed" droid-acp
cmp "$work/packed/droid-acp" "$work/program/linux_amd64_droid-acp" || failed=1
[ $failed = 0 ] || {
	echo "the two releases differ"
	exit 1
}
mkdir -p "$out"
rm -f "$out"/*
cp "$first"/dist/* "$out"/
echo "two releases in different clones are the same: $(ls "$out" | wc -l) files"
