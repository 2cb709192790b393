#!/bin/sh
# Shows that models give the same bytes by seed on aarch64, under qemu-user: packaging/test-arm.sh UV DIST RELEASE
#
# The wheel for aarch64 runs in that machine's Python, extracted from packages of the Debian RELEASE without installing
# them: no root, and no handler of foreign binaries in the kernel.
set -eu

uv=$1
wheel=$(echo "$2"/iogauge-*_aarch64.whl)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

mmdebstrap --quiet --variant=extract --architectures=arm64 --include=python3,libstdc++6,libgomp1 \
    "$3" "$work/root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
python=$(echo "$work"/root/usr/bin/python3.??)

"$uv" export --quiet --locked --no-dev --no-emit-project --no-hashes >"$work/requirements.txt"
"$uv" pip install --quiet --target "$work/site" --only-binary :all: --python-platform aarch64-manylinux_2_28 \
    --python-version "${python##*python}" --requirements "$work/requirements.txt" "$wheel"

.venv/bin/python packaging/digests.py >"$work/here"
PYTHONPATH=$work/site PYTHONDONTWRITEBYTECODE=1 \
    qemu-aarch64-static -L "$work/root" "$python" packaging/digests.py >"$work/aarch64"
diff "$work/here" "$work/aarch64"
echo "test-arm: $(wc -l <"$work/here") runs of models give the same bytes on $(uname -m) and aarch64"
