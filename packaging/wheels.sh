#!/bin/sh
# Builds wheels and the source distribution: packaging/wheels.sh UV OUT MACHINE...
#
# A MACHINE is x86_64 or aarch64. zig links against glibc 2.28, which is what the wheels of numpy and pyarrow need too,
# so the machine that builds can be newer than those that install. Every build of a commit gives the same bytes: times
# are those of the commit, and no path of this machine gets into the core or the list of its crates.
set -eu

uv=$1
out=$2
shift 2
cd "$(dirname "$0")/.."

# maturin and zig have an environment of their own, so that nothing disturbs tests that run in .venv meanwhile.
tools=.tools/wheels
UV_PROJECT_ENVIRONMENT=$tools "$uv" sync --locked --quiet --only-group wheels
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
CARGO_ENCODED_RUSTFLAGS=$(printf '%s\037%s' \
    "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" "--remap-path-prefix=$PWD=iogauge")
export SOURCE_DATE_EPOCH CARGO_ENCODED_RUSTFLAGS

fingerprint=python/iogauge/_core.sources
trap 'rm -f "$fingerprint"' EXIT
trap 'exit 1' INT TERM
"$tools/bin/python" packaging/prebuilt.py >"$fingerprint"

for machine in "$@"; do
    target=$machine-unknown-linux-gnu
    if ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
        rustup target add "$target" 2>/dev/null || {
            echo "wheels: Rust's library for $target is missing" >&2
            echo "hint: rustup target add $target, or leave it out: make wheels MACHINES=$(uname -m)" >&2
            exit 1
        }
    fi
    said=$(PATH="$PWD/$tools/bin:$PATH" maturin build --locked --release --strip --zig --target "$target" \
        --compatibility manylinux_2_28 --target-dir target/wheels --out "$out" 2>&1) || { echo "$said" >&2; exit 1; }
    "$tools/bin/python" packaging/relocate.py "$out"/iogauge-*_"$machine".whl
done
rm -f "$fingerprint"
"$uv" build --quiet --sdist --out-dir "$out"
