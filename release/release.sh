#!/usr/bin/env bash
# Writes a release to dist: programs for Linux on amd64 and arm64, archives, Debian packages, checksums. Equal sources
# and an equal Go give equal bytes. It needs the Go proxy or a module cache, and nothing else from a network.
set -euo pipefail
cd "$(dirname "$0")"
dist=../dist
VERSION=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' ../cli/version.go)
[ -n "$VERSION" ] || { echo "release.sh: cli/version.go has no line: const Version = \"...\"" >&2; exit 1; }
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
rm -rf "$dist"
mkdir -p "$dist"
go run . "$dist/shared"
gzip -9n "$dist"/shared/man1/*.1
for ARCH in amd64 arm64; do
	build=$dist/linux-$ARCH
	mkdir -p "$build"
	(cd .. &&
		CGO_ENABLED=0 GOOS=linux GOARCH=$ARCH go build -trimpath -ldflags '-s -w' -o "dist/linux-$ARCH/" ./cmd/...)
	cp ../README.md ../CHANGELOG.md ../LICENSE "$build"
	cp -r "$dist/shared/man1" "$dist/shared/completions" "$build"
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
		--transform "s|^linux-$ARCH|sojourn-$VERSION-linux-$ARCH|" -C "$dist" -cf - "linux-$ARCH" |
		gzip -9n >"$dist/sojourn-$VERSION-linux-$ARCH.tar.gz"
	ARCH=$ARCH VERSION=$VERSION BUILD=$build SHARED=$dist/shared \
		go tool nfpm package --config nfpm.yaml --packager deb --target "$dist"
done
(cd "$dist" && sha256sum ./*.tar.gz ./*.deb >SHA256SUMS)
rm -rf "$dist/shared"
ls -l "$dist"
