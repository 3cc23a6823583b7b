#!/bin/sh
# Says whether this tree can be given to others: it builds for every system that
# docs/executors.md names, twice with the same bytes, from modules that are what their
# authors published, without known vulnerabilities. $1 is the go command.
set -eu
go=${1:-go}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0

for system in linux darwin windows freebsd; do
	for machine in amd64 arm64; do
		echo "build for $system/$machine"
		GOOS=$system GOARCH=$machine $go build -o /dev/null ./...
	done
done

# The second tree has a longer path, and a cache of its own, so that everything in it is
# compiled anew. Neither has a version control's data, which git may keep elsewhere.
for tree in one another/tree; do
	mkdir -p "$work/$tree"
	tar -c -f - --exclude=./.git --exclude=./bin --exclude=./out . | tar -x -f - -C "$work/$tree"
done
(cd "$work/one" && $go build -trimpath -o "$work/first" ./cmd/colltune)
(cd "$work/another/tree" && GOCACHE="$work/cache" $go build -trimpath -o "$work/second" ./cmd/colltune)
cmp "$work/first" "$work/second"
echo "the same bytes twice: $(cksum <"$work/first" | cut -d' ' -f1)"

$go mod verify
$go test -count=1 -run '^TestLicences$' .

# It exits with 3 if something is found, and in other ways if it cannot look.
found=0
{ GOBIN=$work $go install golang.org/x/vuln/cmd/govulncheck@v1.9.0 && "$work/govulncheck" ./...; } >"$work/said" 2>&1 || found=$?
case $found in
0) echo "no known vulnerabilities" ;;
3)
	cat "$work/said"
	exit 1
	;;
*) echo "known vulnerabilities were not looked up: $(tail -n 1 "$work/said")" ;;
esac
