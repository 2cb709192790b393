#!/bin/sh
# Tests the wheel in DIST as a user has it: packaging/test-wheel.sh UV DIST
#
# The environment is new, outside the checkout, and finds no cargo. It gets the wheel with the locked versions of what
# it needs. A short demo runs, then the tests, from a copy in which iogauge's own sources are missing.
set -eu

uv=$(realpath "$(command -v "$1")")
dist=$(realpath "$2")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

"$uv" export --quiet --locked --no-emit-project --group dev >"$work/requirements.txt"
"$uv" venv --quiet "$work/venv"
VIRTUAL_ENV=$work/venv
PATH=$VIRTUAL_ENV/bin:/usr/bin:/bin:/usr/sbin:/sbin
export VIRTUAL_ENV PATH
if command -v cargo >/dev/null; then
    echo "test-wheel: warning: cargo is in /usr/bin, so this cannot show that the wheel works without it" >&2
fi
"$uv" pip install --quiet --requirements "$work/requirements.txt" "$dist"/iogauge-*_"$(uname -m)".whl

# The tests must import the package from the wheel, so the copy has none.
git ls-files -z | grep -zv -e '^python/' -e '\.rs$' | xargs -0 cp --parents -t "$work"
cd "$work"
iogauge --version
iogauge review model:p4800x model:p3700-800g --suite write-pressure --pace quick --output saved
iogauge report saved --output report.html
iogauge run --name=reads --filename=target.bin --size=64m --rw=randread --bs=4k --direct=1 --runtime=1 --time_based
python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal -m "not slow and not release" \
    --ignore tests/fast/house tests/fast tests/published tests/traps
