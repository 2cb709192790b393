#!/bin/sh
# Builds a Debian package from a wheel: packaging/deb.sh UV OUT MACHINE PYTHON
#
# The wheel for MACHINE (x86_64 or aarch64) is in OUT, and the package goes there. It installs a virtual environment in
# /usr/lib/iogauge with the locked versions of all that iogauge needs, since Debian has few of them. PYTHON is that of
# the Debian release: 3.11 for 12, 3.13 for 13.
set -eu

uv=$1
machine=$3
python=$4
mkdir -p "$2"
out=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
wheel=$(ls "$out"/iogauge-*_"$machine".whl)
version=$(basename "$wheel" | cut -d- -f2)
case $machine in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; esac
work=$(mktemp -d "$out/deb.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
source=$work/iogauge-$version
home=$source/tree/usr/lib/iogauge
site=$home/lib/python$python/site-packages
doc=$source/tree/usr/share/doc/iogauge
completions=$source/tree/usr/share/bash-completion/completions
mkdir -p "$home/bin" "$site" "$doc" "$completions" "$source/tree/usr/bin"

"$uv" export --quiet --locked --no-dev --no-emit-project >"$work/requirements.txt"
"$uv" pip install --quiet --no-deps --python-version "$python" --python-platform "$machine-manylinux_2_28" \
    --target "$site" --requirements "$work/requirements.txt" "$wheel"
# Traces of this build, and of other projects their tests and the scripts that name the interpreter of this machine.
rm -rf "$site/bin" "$site/.lock" "$site"/*.dist-info/direct_url.json "$site"/*.dist-info/uv_cache.json
sed -i -E '/^bin\/|\/(direct_url|uv_cache)\.json,/d' "$site"/*.dist-info/RECORD
find "$site" \( -name __pycache__ -o -name tests \) -type d -prune -exec rm -rf {} +

# A virtual environment needs only a link to the interpreter, and a file that says where that comes from.
ln -s "/usr/bin/python$python" "$home/bin/python"
printf 'home = /usr/bin\ninclude-system-site-packages = false\nversion = %s\n' "$python" >"$home/pyvenv.cfg"
printf '#!/usr/lib/iogauge/bin/python -I\nimport sys\n\nfrom iogauge.cli import main\n\nsys.exit(main())\n' \
    >"$home/bin/iogauge"
chmod +x "$home/bin/iogauge"
ln -s ../lib/iogauge/bin/iogauge "$source/tree/usr/bin/iogauge"

.venv/bin/iogauge completion bash >"$completions/iogauge"
.venv/bin/python docs/man.py "$source/man" >/dev/null
# Without the time of this build and its random number.
"$uv" export --quiet --locked --no-dev --format cyclonedx1.5 | sed -E -e '/^ *"serialNumber":/d' \
    -e "s/^( *\"timestamp\": )\"[^\"]*\"/\1\"$(date -ud "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)\"/" \
    >"$doc/iogauge.cdx.json"

cp -R packaging/debian "$source/debian"
cp CHANGELOG.md "$source/"
echo "man/*.1" >"$source/debian/iogauge.manpages"
sed -e "s/@ARCH@/$arch/" -e "s/@PYTHON@/$python/" -e "s/@NEXT@/3.$((${python#3.} + 1))/" \
    "$source/debian/control.in" >"$source/debian/control"
rm "$source/debian/control.in"
printf 'iogauge (%s) unstable; urgency=medium\n\n  * Release; see changelog.gz.\n\n -- %s  %s\n' "$version" \
    "$(sed -n 's/^Maintainer: //p' "$source/debian/control")" "$(date -Rud "@$SOURCE_DATE_EPOCH")" \
    >"$source/debian/changelog"

(cd "$source" && dpkg-buildpackage --build=binary --host-arch "$arch" -d -us -uc >"$work/log" 2>&1) || {
    cat "$work/log" >&2
    exit 1
}
mv "$work"/*.deb "$out/"
